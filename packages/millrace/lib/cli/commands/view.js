'use strict'

const { misuse } = require('@millrace/errors')
const { codecs } = require('../../open')
const { openViewed } = require('../../viewer/open')
const { serve } = require('../../viewer/server')
const { findLog } = require('../source')

const PORT_MAX = 65535

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'view',
  summary: 'serves a page, on this machine only, to look at a log in a browser',
  details: 'It prints the URL, which holds a secret, and serves until it is interrupted. It takes no lock and changes ' +
    'nothing; the process that writes the log goes on.',
  arguments: [{ name: 'file', description: 'the log: a file or a folder, or - for one on standard input' }],
  options: [
    { flags: '-p, --port <port>', description: 'listen on this port; 0 takes any free port', parse: parsePort, default: 0 },
    { flags: '--time <path>', description: 'the path of a record\'s time, such as value.timestamp. By default it is found wherever a logger writes it' },
    { flags: '--codec <name>', description: 'the codec of the records, if the log does not name it; bytes reads any log', choices: Object.keys(codecs) }
  ],
  examples: [['millrace view events.log', 'open the URL that it prints'], ['millrace view logs', 'a folder, also of several processes, as one log']],
  async run ({ args, options, shell }) {
    const { path, remove } = await findLog(shell, args.file)
    try {
      const { viewed, close: closeLog } = await openViewed(path, options)
      const { url, close } = await serve(viewed, options)
      shell.print(url)
      await shell.flush()
      await new Promise((resolve) => shell.onAbort(() => resolve(null)))
      await close()
      await closeLog()
    } finally {
      remove()
    }
  }
}

/** @param {string} text */
function parsePort (text) {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= PORT_MAX && text.trim() !== '') return port
  throw misuse(`Expected a port from 0 to ${PORT_MAX}.`)
}
