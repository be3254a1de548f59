select * from {{ ref("daily") }} where amount > {{ var("limit") }}
