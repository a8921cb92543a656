'use strict'
// A server that tests kill. It says its URL when it is ready, and ends at SIGTERM.

const { createIngest } = require('..')

main()

async function main () {
  const server = createIngest(JSON.parse(process.argv[2]))
  const url = await server.listen()
  process.once('SIGTERM', async () => {
    await server.close()
    process.exit(0)
  })
  await server.ready()
  process.send(url)
  process.on('disconnect', () => process.exit(1))
}
