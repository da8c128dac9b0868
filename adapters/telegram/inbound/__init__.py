"""What comes from Telegram: `polling` asks for it, or Telegram brings it to `webhook` by way of
`webhook_server`; `normalize` makes updates of it, and `held_back` says which wait for one that
Telegram must bring again.
"""
