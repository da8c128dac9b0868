"""What belongs to chats: what was chosen there, which messages are still being changed, and who was
let in.
"""
