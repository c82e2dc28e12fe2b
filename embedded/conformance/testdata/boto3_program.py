"""Uses an endpoint of DynamoDB as Python programs do, and prints "all passed" if it answers as they expect."""

import sys
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

resource = boto3.resource("dynamodb", endpoint_url=sys.argv[1])
client = resource.meta.client

table = resource.create_table(
    TableName="python",
    BillingMode="PAY_PER_REQUEST",
    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    AttributeDefinitions=[
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "grp", "AttributeType": "S"},
    ],
    GlobalSecondaryIndexes=[
        {
            "IndexName": "group",
            "KeySchema": [{"AttributeName": "grp", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
)
table.wait_until_exists()

with table.batch_writer() as batch:
    for n in range(60):
        batch.put_item(
            {"pk": "a", "sk": n, "grp": "even" if n % 2 == 0 else "odd", "value": Decimal("1.5") * n, "tags": {"x", "y"}, "octets": b"\x00\xff"}
        )

item = table.get_item(Key={"pk": "a", "sk": 3}, ConsistentRead=True)["Item"]
assert item["value"] == Decimal("4.5"), item
assert item["tags"] == {"x", "y"} and item["octets"].value == b"\x00\xff", item

assert table.query(KeyConditionExpression=Key("pk").eq("a") & Key("sk").between(10, 19))["Count"] == 10
assert table.query(IndexName="group", KeyConditionExpression=Key("grp").eq("odd"), FilterExpression=Attr("sk").gte(50))["Count"] == 5
assert table.scan(Select="COUNT")["Count"] == 60
pages = client.get_paginator("scan").paginate(TableName="python", PaginationConfig={"PageSize": 7})
assert sum(len(page["Items"]) for page in pages) == 60

changed = table.update_item(
    Key={"pk": "a", "sk": 3},
    UpdateExpression="SET #v = #v + :one ADD tags :more REMOVE octets",
    ExpressionAttributeNames={"#v": "value"},
    ExpressionAttributeValues={":one": 1, ":more": {"z"}},
    ReturnValues="UPDATED_NEW",
)["Attributes"]
assert changed == {"value": Decimal("5.5"), "tags": {"x", "y", "z"}}, changed

try:
    table.put_item(Item={"pk": "a", "sk": 3}, ConditionExpression=Attr("pk").not_exists())
    raise AssertionError("the condition holds")
except client.exceptions.ConditionalCheckFailedException:
    pass

try:
    client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": "python", "Item": {"pk": "b", "sk": 1}}},
            {"Delete": {"TableName": "python", "Key": {"pk": "a", "sk": 3}, "ConditionExpression": "attribute_not_exists(pk)"}},
        ]
    )
    raise AssertionError("the transaction succeeds")
except client.exceptions.TransactionCanceledException as error:
    codes = [reason["Code"] for reason in error.response["CancellationReasons"]]
    assert codes == ["None", "ConditionalCheckFailed"], codes
assert "Item" not in table.get_item(Key={"pk": "b", "sk": 1})

rows = client.execute_statement(Statement="SELECT sk FROM python WHERE pk = ? AND sk < ?", Parameters=["a", 3])["Items"]
assert [row["sk"] for row in rows] == [0, 1, 2], rows

try:
    client.describe_table(TableName="nothing")
    raise AssertionError("there is a table")
except ClientError as error:
    assert error.response["Error"]["Code"] == "ResourceNotFoundException", error

streams = boto3.client("dynamodbstreams", endpoint_url=sys.argv[1])
client.update_table(TableName="python", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
table.put_item(Item={"pk": "c", "sk": 1, "value": 1})
table.put_item(Item={"pk": "c", "sk": 1, "value": 2})
table.delete_item(Key={"pk": "c", "sk": 1})
arn = streams.list_streams(TableName="python")["Streams"][0]["StreamArn"]
shards = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
names, iterators = [], []
for shard in shards:
    iterators.append(streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"])
for iterator in iterators:
    page = streams.get_records(ShardIterator=iterator, Limit=10)
    names += [(record["eventName"], record["dynamodb"].get("NewImage", {}).get("value")) for record in page["Records"]]
    assert page["NextShardIterator"], page
assert names == [("INSERT", {"N": "1"}), ("MODIFY", {"N": "2"}), ("REMOVE", None)], names
try:
    streams.get_records(ShardIterator="nothing")
    raise AssertionError("there is an iterator")
except ClientError as error:
    assert error.response["Error"]["Code"] == "ValidationException", error

table.delete()
table.wait_until_not_exists()
assert streams.describe_stream(StreamArn=arn)["StreamDescription"]["StreamStatus"] == "DISABLED"
print("all passed")
