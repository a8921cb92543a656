'use strict'

const { isUtf8 } = require('node:buffer')
const { join } = require('node:path')
const { misuse } = require('@millrace/errors')
const { OffsetLog } = require('@millrace/offset-log')
const { codecs } = require('../../open')
const { parseQuery } = require('../../viewer/query')
const { serve } = require('../../viewer/server')
const { ViewedLog } = require('../../viewer/viewed-log')
const { chooseCodec, findLog, identify, isFolder, storageOf } = require('../source')

const PORT_MAX = 65535

/** @typedef {import('../../open').CodecName} CodecName */

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
  arguments: [{ name: 'file', description: 'the log, a folder of segments, or - for a log on standard input' }],
  options: [
    { flags: '-p, --port <port>', description: 'listen on this port; 0 takes any free port', parse: parsePort, default: 0 },
    { flags: '--time <path>', description: 'the path of a record\'s time, such as value.timestamp. By default it is found wherever a logger writes it' },
    { flags: '--codec <name>', description: 'the codec of the records, if the log does not name it; bytes reads any log', choices: Object.keys(codecs) }
  ],
  examples: [['millrace view events.log', 'open the URL that it prints'], ['millrace view logs', 'a folder of segments, as one log']],
  async run ({ args, options, shell }) {
    const { path, remove } = await findLog(shell, args.file)
    try {
      const { log, viewed } = await (isFolder(path) ? openFolder : openFile)(path, options)
      const { url, close } = await serve(viewed, options)
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

/** @type {(path: string, options: Record<string, any>) => Promise<{ log: any, viewed: ViewedLog }>} */
async function openFile (path, options) {
  const identity = await identify(path)
  const codec = codecs[/** @type {CodecName} */ (options.codec ?? await chooseCodec(identity))] ?? bytesCodec
  const log = OffsetLog(path, { flags: 'r', codec, storage: storageOf(path) })
  await log.ready()
  return { log, viewed: new ViewedLog(log, { identity, codec, timePath: options.time?.split('.'), parseQuery }) }
}

/** @type {typeof openFile} */
async function openFolder (folder, options) {
  const { SegmentedLog } = require('@millrace/segmented-log')
  const { identifyFolder } = require('../folder')
  const [slot] = require('../slots').listSlots(folder)
  if (slot !== undefined) {
    throw misuse(`${folder} is written by several processes, and the viewer shows the log of one. Give a slot: ` +
      `millrace view ${join(folder, slot)}. millrace cat and millrace tail -f read all of them`)
  }
  const identity = await identifyFolder(folder)
  const name = /** @type {CodecName} */ (options.codec ?? identity.guessed ?? await chooseCodec(identity))
  const codec = codecs[name] ?? bytesCodec
  const log = SegmentedLog(folder, { flags: 'r', codec })
  await log.ready()
  const listFiles = async () => {
    const segments = await log.segments()
    return segments.map(({ path, base }) => ({ path, base, storage: storageOf(path) }))
  }
  const timePath = options.time?.split('.')
  return { log, viewed: new ViewedLog(/** @type {any} */ (log), { identity, codec, timePath, parseQuery, listFiles }) }
}

/** @param {string} text */
function parsePort (text) {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= PORT_MAX && text.trim() !== '') return port
  throw misuse(`Expected a port from 0 to ${PORT_MAX}.`)
}
