"""Follows a stream with bloop, which finds the shards and their children on its own, and prints "all passed"."""

import sys

import boto3
from bloop import BaseModel, Column, Engine, Integer, String


class Account(BaseModel):
    class Meta:
        stream = {"include": {"new", "old"}}
        billing = {"mode": "on_demand"}

    id = Column(String, hash_key=True)
    balance = Column(Integer)


engine = Engine(
    dynamodb=boto3.client("dynamodb", endpoint_url=sys.argv[1]),
    dynamodbstreams=boto3.client("dynamodbstreams", endpoint_url=sys.argv[1]),
)
engine.bind(Account)
stream = engine.stream(Account, "trim_horizon")

changes, wanted = 0, {}
for n in range(300):
    name = "a%d" % (n % 7)
    engine.save(Account(id=name, balance=n))
    wanted[name] = n
    changes += 1
engine.delete(Account(id="a3"))
del wanted["a3"]
changes += 1

seen, found = 0, {}
for _ in range(1000):
    record = next(stream)
    if record is None:
        if seen == changes:
            break
        continue
    seen += 1
    if record["new"] is None:
        del found[record["old"].id]
    else:
        found[record["new"].id] = record["new"].balance
assert seen == changes, (seen, changes)
assert found == wanted, (found, wanted)

# Another reader goes on where this one is.
later = engine.stream(Account, "latest")
later.move_to(stream.token)
engine.save(Account(id="new", balance=1))
for _ in range(1000):
    record = next(later)
    if record is not None:
        assert record["new"].id == "new", record
        break
else:
    raise AssertionError("the reader that was moved finds nothing")
print("all passed")
