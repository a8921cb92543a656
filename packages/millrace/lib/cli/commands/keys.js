'use strict'

const path = require('node:path')
const { resolvePath } = require('@millrace/block-file')
const { misuse } = require('@millrace/errors')
const { escapeControls } = require('@millrace/flow')
const { loadPackage } = require('../packages')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'keys',
  summary: 'makes, lists and revokes the API keys of a folder that millrace serve serves',
  details: 'A running server knows the change within a second. The key itself is printed once; the file keys.json in the ' +
    'folder has only its SHA-256. Once there is a file of keys, every request needs one. It needs the package ' +
    '@millrace/ingest.',
  needs: ['@millrace/ingest'],
  arguments: [
    { name: 'action', description: 'what to do', kind: 'text', choices: ['create', 'list', 'revoke'] },
    { name: 'dir', description: 'the folder of the logs' },
    { name: 'id', description: 'the key to revoke, as list shows it', kind: 'text', isOptional: true }
  ],
  options: [
    { flags: '--scope <scope>', description: 'what the key may do: read: or write: and the name of a log, or the beginning of names and *; may be repeated', parse: String, isList: true },
    { flags: '--otlp-log <name>', description: 'the log that OpenTelemetry records with this key go to; otlp by default' },
    { flags: '--note <text>', description: 'whose key it is' }
  ],
  examples: [
    ['millrace keys create data --scope write:orders --scope read:*', 'print a key that writes one log and reads all'],
    ['millrace keys revoke data 1f0c22aa', 'revoke this key']
  ],
  async run ({ args: { action, dir, id }, options, shell }) {
    const { createKey, listKeys, revokeKey } = loadPackage('@millrace/ingest', 'millrace keys')
    const file = path.join(resolvePath(dir), 'keys.json')
    if (action === 'create') {
      const { scope: scopes = [], note, otlpLog } = options
      const { secret, key } = await createKey(file, { scopes, note, otlpLog })
      shell.complain(`millrace: the key ${key.id}; it is not shown again\n`)
      shell.print(secret)
    } else if (action === 'list') {
      for (const { id, scopes, created, note = '' } of await listKeys(file)) {
        shell.print(escapeControls(`${id}  ${created}  ${scopes.join(' ')}  ${note}`.trimEnd()))
      }
    } else {
      if (id === undefined) throw misuse('keys revoke needs the id of a key; millrace keys list shows them')
      await revokeKey(file, id)
    }
  }
}
