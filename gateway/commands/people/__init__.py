"""Who may talk to the bot, from a chat: `rights` gives and takes, `requests` lets strangers in
(/pair and the buttons that owners get), `listing` is /people, `forget` is /forget me.
"""
