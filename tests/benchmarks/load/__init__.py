"""A gateway under load, on both databases: `rates` says how many turns it does and what they take,
`questions` what many open questions cost, `holdups` how long other chats wait for what is large,
`soak` what becomes of it in the long run, `many_processes` what two do together. `gateways` makes
the gateways that are measured."""
