'use strict'

const { misuse } = require('@millrace/errors')
const { escapeControls } = require('@millrace/flow')

const PORT_MAX = 65535
const ACKS = ['buffered', 'written', 'synced']
const ACCESS_LOG_SIZE = 256 * 2 ** 20
const DAY_MS = 24 * 3600 * 1000

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'serve',
  summary: 'takes records over HTTP into the logs of a folder, and serves them',
  details: 'POST /v1/logs/NAME appends, GET /v1/logs/NAME reads. It listens on this machine only, unless there are keys ' +
    '(see millrace keys). At SIGTERM it writes and syncs all that it has taken.',
  arguments: [{ name: 'dir', description: 'the folder of the logs; it is made if it is missing' }],
  options: [
    { flags: '-p, --port <port>', description: 'listen on this port; 0 takes any free port', parse: (text) => parseNumber(text, 0, PORT_MAX), default: 7700 },
    { flags: '--host <address>', description: 'listen on this address; others than the loopback need keys', default: '127.0.0.1' },
    { flags: '--host-name <name>', description: 'a name that requests may be sent to; if it is repeated, each of them', parse: String, isList: true },
    { flags: '--ack <ack>', description: 'what is acknowledged if a client does not ask', choices: ACKS, default: 'written' },
    { flags: '--floor <ack>', description: 'the least that is acknowledged, whatever a client asks', choices: ACKS, default: 'buffered' },
    { flags: '--dictionary', description: 'store repeated texts once, in the files that begin from now on' },
    { flags: '--max-size <bytes>', description: 'drop the oldest records of a log before its files become larger', parse: (text) => parseNumber(text, 2 ** 20, Infinity) },
    { flags: '--access-log <folder>', description: 'write a line for each request into the log in this folder' },
    { flags: '--max-age <days>', description: 'drop records that are older', parse: (text) => parseNumber(text, 1, Infinity) }
  ],
  examples: [
    ['millrace serve data', 'serve the logs in the folder data on http://127.0.0.1:7700'],
    ['curl -H "Content-Type: application/json" -H "Prefer: ack=synced" -d \'{"user":"ada"}\' http://127.0.0.1:7700/v1/logs/logins',
      'append a record; the answer comes when it is on the disk']
  ],
  async run ({ args, options, shell }) {
    // Help and completion load this file, and need no server.
    const { createIngest } = require('@millrace/ingest')
    const { port, host, hostName, ack, floor, dictionary = false, maxSize, maxAge, accessLog: accessFolder } = options
    const log = { ...(maxSize && { maxSize }), ...(maxAge && { maxAge: maxAge * DAY_MS }) }
    const onReport = (/** @type {Error} */ err, /** @type {string} */ name) => {
      shell.complain(`millrace: ${escapeControls(`${name}: ${err.message}`)}\n`)
    }
    const hosts = hostName ?? null
    const { destination } = require('@millrace/pino')
    const accessLog = accessFolder && destination(accessFolder, { log: { maxSize: ACCESS_LOG_SIZE } })
    const settings = { port, host, hosts, ack, floor, dictionary, log, onReport, ...(accessLog && { accessLog }) }
    const server = createIngest({ folder: args.dir, ...settings })
    try {
      shell.print(await server.listen())
      await shell.flush()
      await Promise.race([server.ready(), aborted(shell)])
      await aborted(shell)
    } finally {
      await server.close()
      await accessLog?.close()
    }
  }
}

/** @param {import('../shell').Shell} shell */
function aborted (shell) {
  return new Promise((resolve) => shell.onAbort(() => resolve(null)))
}

/** @type {(text: string, least: number, most: number) => number} */
function parseNumber (text, least, most) {
  const number = Number(text)
  if (Number.isInteger(number) && number >= least && number <= most && text.trim() !== '') return number
  throw misuse(`expected a whole number from ${least} on${most < Infinity ? `, up to ${most}` : ''}`)
}
