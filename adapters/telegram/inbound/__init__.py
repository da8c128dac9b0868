"""What comes from Telegram: `polling` asks for it, or Telegram brings it to `webhook` by way of
`webhook_server`; `normalize` makes updates of it.
"""
