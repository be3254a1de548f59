def model(dbt, session):
    dbt.config(materialized="table")
    return session.range(1)
