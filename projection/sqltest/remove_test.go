package sqltest_test

