'use strict'
// A server that tests kill. It says its URL when it is ready, or as soon as it listens, and ends at SIGTERM.

const { createIngest } = require('..')

main()

async function main () {
  const { saysEarly = false, ...options } = JSON.parse(process.argv[2])
  const server = createIngest(options)
  const url = await server.listen()
  process.once('SIGTERM', async () => {
    await server.close()
    process.exit(0)
  })
  if (!saysEarly) await server.ready()
  process.send(url)
  process.on('disconnect', () => process.exit(1))
}
