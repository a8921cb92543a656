// @ts-nocheck
'use strict'
// A server whose logs get appends with conditions, until it is killed.

const { createIngest } = require('@millrace/ingest')

process.on('message', async (options) => {
  const server = createIngest({ port: 0, ...options })
  const url = await server.listen()
  await server.ready()
  process.send?.({ url })
})
// Nobody ends a child whose parent is gone.
process.on('disconnect', () => process.exit(1))
