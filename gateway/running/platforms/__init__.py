"""The platforms, each served for as long as the gateway runs (`platform_supervisor`): which of them
this process receives from (`reception`), questions after an outage (`renewal`), and who hears of
one (`outage_news`).
"""
