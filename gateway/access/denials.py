"""What people are told who may not do what they ask for."""

STRANGER = (
    "I do not know you. Ask this bot's owner to let you in; you are `{identity}` "
    "(`allow` under `[access]` in bough.toml)."
)
PAIRING = (
    "I do not know you. Ask this bot's owner to let you in; you are `{identity}`, and your code is "
    "`{code}`. The owner gets a button for you, or writes `/pair {code}` to me. The code is good "
    "for {minutes} minutes; /start gives you another one. Show it to nobody else, and in no group."
)
NO_OWNER = (
    "I do not know you; you are `{identity}`. This bot has no owner yet: the terminal that it was "
    "started in shows a code, and whoever writes it to me in private owns me."
)
WRONG_CODE = "That is not the code, or you tried too often: I look at five an hour."
MAY_NOT_TALK = "You may decide here, but not talk. Ask this bot's owner to let you in."
NOT_YOURS = "Somebody else's turn is running here: wait for its end, or ask them to /stop it."
NOT_YOUR_SETTINGS = "In a group, owners and approvers change the settings. Nothing was changed."
ONLY_BY_BUTTON = "Only a button does this. /help lists what you can type."
