"""What people are told who may not do what they ask for."""

STRANGER = (
    "I do not know you. Ask this bot's owner to let you in; you are `{identity}` "
    "(`allow` under `[access]` in bough.toml)."
)
MAY_NOT_TALK = "You may decide here, but not talk. Ask this bot's owner to let you in."
NOT_YOURS = "Somebody else's turn is running here: wait for its end, or ask them to /stop it."
NOT_YOUR_SETTINGS = "In a group, owners and approvers change the settings. Nothing was changed."
ONLY_BY_BUTTON = "Only a button does this. /help lists what you can type."
