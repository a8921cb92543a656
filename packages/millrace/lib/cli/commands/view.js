'use strict'

const { isUtf8 } = require('node:buffer')
const { readdirSync } = require('node:fs')
const { join } = require('node:path')
const { misuse } = require('@millrace/errors')
const { OffsetLog } = require('@millrace/offset-log')
const { codecs } = require('../../open')
const { parseQuery } = require('../../viewer/query')
const { serve } = require('../../viewer/server')
const { ViewedLog } = require('../../viewer/viewed-log')
const { chooseCodec, findLog, identify, isFolder } = require('../source')

const PORT_MAX = 65535

/** Shows bytes as text if they are text. @type {import('@millrace/offset-log').Codec<any>} */
const bytesCodec = {
  name: 'bytes',
  buffer: true,
  encode: () => { throw misuse('this log is open for reading') },
  decode: (bytes) => isUtf8(bytes) ? bytes.toString() : bytes,
  compile: () => () => false
}

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'view',
  summary: 'serves a page, on this machine only, to look at a log in a browser',
  details: 'It prints the URL, which holds a secret, and serves until it is interrupted. It takes no lock and changes ' +
    'nothing; the process that writes the log goes on.',
  arguments: [{ name: 'file', description: 'the log, or - for one on standard input' }],
  options: [
    { flags: '-p, --port <port>', description: 'listen on this port; 0 takes any free port', parse: parsePort, default: 0 },
    { flags: '--time <path>', description: 'the path of a record\'s time, such as value.timestamp. By default the viewer looks for one' },
    { flags: '--codec <name>', description: 'the codec of the records, if the log does not name it; bytes reads any log', choices: Object.keys(codecs) }
  ],
  examples: [['millrace view events.log', 'open the URL that it prints']],
  async run ({ args, options, shell }) {
    if (isFolder(args.file)) refuseFolder(args.file)
    const { path, remove } = await findLog(shell, args.file)
    try {
      const identity = await identify(path)
      /** @type {keyof typeof codecs} */
      const name = options.codec ?? await chooseCodec(identity)
      const codec = codecs[name] ?? bytesCodec
      const log = OffsetLog(path, { flags: 'r', codec })
      await log.ready()
      const timePath = options.time?.split('.')
      const { url, close } = await serve(new ViewedLog(log, { identity, codec, timePath, parseQuery }), options)
      shell.print(url)
      await shell.flush()
      await new Promise((resolve) => shell.onAbort(() => resolve(null)))
      await close()
      await log.close()
    } finally {
      remove()
    }
  }
}

/** @param {string} folder */
function refuseFolder (folder) {
  const [slot = ''] = require('../slots').listSlots(folder)
  const segments = readdirSync(join(folder, slot)).filter((name) => name.endsWith('.log')).sort()
  const segment = join(folder, slot, segments.at(-1) ?? 'SEGMENT.log')
  throw misuse(`${folder} is a folder, and the viewer shows one file. Give a segment, such as the newest one` +
    `${slot && ` of slot ${slot}`}: millrace view ${segment}. millrace cat and millrace tail -f read the whole folder`)
}

/** @param {string} text */
function parsePort (text) {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= PORT_MAX && text.trim() !== '') return port
  throw misuse(`expected a port from 0 to ${PORT_MAX}`)
}
