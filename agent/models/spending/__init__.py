"""No call is made that could cost more than is left: `budgets` of a day, and what calls that run
have set aside in other processes (`reservations`).
"""
