'use strict'

const fs = require('node:fs/promises')
const { escapeControls } = require('@millrace/flow')
const { loadPackage, loadServerSettings } = require('../packages')

const ACCESS_LOG_SIZE = 256 * 2 ** 20
const VALUE_NAMES = { size: 'bytes', ms: 'ms', days: 'days', count: 'count', text: 'text', list: 'name', choice: 'choice', rate: 'count/ms', switch: '' }
const CONFIG = 'config'

const known = loadServerSettings()
const options = (known?.settings ?? []).map((setting) => {
  const { parseSetting, showDefault } = /** @type {NonNullable<typeof known>} */ (known)
  const { name, kind, short, description, choices } = setting
  const shown = showDefault(setting)
  const flag = `${short ? `-${short}, ` : ''}--${name}`
  return {
    flags: kind === 'switch' ? flag : `${flag} <${VALUE_NAMES[kind]}>`,
    description: `${description}${shown && `. Default: ${shown}`}`,
    ...(choices && { choices }),
    ...(kind === 'list' && { isList: true, parse: String }),
    ...(!['list', 'switch', 'choice'].includes(kind) && { parse: (/** @type {string} */ text) => parseSetting(setting, text) })
  }
})

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'serve',
  summary: 'takes records over HTTP into the logs of a folder, and serves them',
  details: 'POST /v1/logs/NAME appends, GET /v1/logs/NAME reads. It listens on this machine only, unless there are keys ' +
    '(see millrace keys). At SIGTERM it writes and syncs all that it has taken. Each option may also be given in the ' +
    `environment (MILLRACE_SERVE_MAX_SIZE for --max-size) or in a file of JSON ({"max-size": "1GiB"}), which --${CONFIG} or ` +
    'MILLRACE_SERVE_CONFIG names. A flag overrides the environment, which overrides the file. Sizes may end in KiB, ' +
    'MiB or GiB, times in s, m, h or d. It needs the package @millrace/ingest, and @millrace/pino for --access-log.',
  needs: ['@millrace/ingest'],
  arguments: [{ name: 'dir', description: 'the folder of the logs; it is made if it is missing' }],
  options: [
    { flags: `--${CONFIG} <file>`, description: 'a file with options: a JSON object with the names of these flags', kind: 'file' },
    ...options
  ],
  examples: [
    ['millrace serve data', 'serve the logs in data on http://127.0.0.1:7700'],
    ['curl -H "Content-Type: application/json" -H "Prefer: ack=synced" -d \'{"user":"ada"}\' http://127.0.0.1:7700/v1/logs/logins',
      'append a record, and wait until it is on the disk']
  ],
  async run ({ args, options, shell }) {
    const { createIngest } = loadPackage('@millrace/ingest', 'millrace serve')
    const { resolveSettings, settings, variableOf } = /** @type {NonNullable<typeof known>} */ (known)
    const config = options[CONFIG] ?? process.env[variableOf(CONFIG)]
    const file = config === undefined ? null : await fs.readFile(config, 'utf8')
    const flags = Object.fromEntries(settings.map(({ name }) => [name, options[camelCase(name)]]))
    const { accessLog: accessFolder, ...given } = resolveSettings({ flags, env: process.env, file })
    const onReport = (/** @type {Error} */ err, /** @type {string} */ name) => {
      shell.complain(`millrace: ${escapeControls(`${name}: ${err.message}`)}\n`)
    }
    const ofAccess = { maxSize: ACCESS_LOG_SIZE, ...(given.log?.mode && { mode: given.log.mode }) }
    const accessLog = accessFolder && loadPackage('@millrace/pino', '--access-log').destination(accessFolder, { log: ofAccess })
    const chosen = { ...given, onReport, ...(accessLog && { accessLog }) }
    const server = createIngest({ folder: args.dir, ...chosen })
    try {
      const url = await server.listen()
      shell.outliveOutput()
      shell.writeNow(`${url}\n`)
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

/** As commander names its options. @param {string} name */
function camelCase (name) {
  return name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())
}
