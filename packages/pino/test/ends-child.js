'use strict'
// A program that is ended by a signal. It tells on standard output what happens, and how many lines it has logged.
// Usage: node ends-child.js <names of rows, joined by ' + '> <SIGNAL> <before | after> <folder, or nothing: no logger>
//   <ms of a slow shutdown>

const cluster = require('node:cluster')
const fs = require('node:fs')
const path = require('node:path')
const { Worker, isMainThread, workerData } = require('node:worker_threads')

const [, , names, signal, position, folder, slowMs] = isMainThread ? process.argv : workerData
const tell = (text) => fs.writeSync(1, `${text}\n`)
const shutDown = async () => {
  tell('begins to shut down')
  await new Promise((resolve) => setTimeout(resolve, Number(slowMs)))
  tell('has shut down')
  process.exit(0)
}

/** A recipe for a shutdown, out of the documentation. @param {string} file  @param {RegExp} pattern */
async function runRecipe (file, pattern) {
  const [, recipe] = pattern.exec(fs.readFileSync(path.join(__dirname, '../../..', file), 'utf8'))
  const { OffsetLog } = require('@millrace/offset-log')
  const log = OffsetLog(path.join(require('@millrace/testkit').temporaryFolder(), 'own.log'))
  await log.ready()
  // eslint-disable-next-line no-new-func
  new Function('log', 'process', 'to', recipe)(log, process)
}

/** What else a program does about signals. */
const rows = {
  nothing: () => {},
  'a worker thread': () => {},
  cluster: () => {},
  on: () => process.on(signal, () => { tell('on'); process.exit(3) }),
  'on, and runs on': () => process.on(signal, () => tell('on')),
  'a slow shutdown with on': () => process.on(signal, shutDown),
  'a slow shutdown with once': () => process.once(signal, shutDown),
  'once, and raises it again': () => process.once(signal, () => setTimeout(() => process.kill(process.pid, signal), 50)),
  'signal-exit 3': () => require('signal-exit-3')((code, by) => tell(`signal-exit 3: ${code} ${by}`)),
  'signal-exit 4': () => require('signal-exit').onExit((code, by) => tell(`signal-exit 4: ${code} ${by}`)),
  'exit-hook': async () => (await import('exit-hook')).default((code) => tell(`exit-hook: ${code}`)),
  death: () => require('death')({ SIGHUP: true })((by) => { tell(`death: ${by}`); process.exit(4) }),
  'a second copy': () => logToSecondCopy(),
  'the recipe of operating.md': () => runRecipe('docs/guides/operating.md', /(async function shutDown[^`]+)```/),
  'the recipe of offset-log': () => runRecipe('packages/offset-log/README.md', /(\/\/ Shutdown[^`]+)```/)
}

async function open (folder) {
  if (folder === '') return { info: () => {} }
  const to = require('..').destination(folder)
  await to.ready()
  return require('pino')(to)
}

/** Lines without end; whenever one is logged, it is told. @param {{ info: Function }} logger  @param {string} name */
function logOn (logger, name) {
  let n = 0
  setInterval(() => {
    for (let count = 0; count < 10; count++) logger.info({ n: n++ })
    tell(`${name} ${n}`)
  }, 1)
}

async function logToSecondCopy () {
  for (const file of Object.keys(require.cache)) {
    if (/packages.(pino|log-writer).(index|lib)/.test(file)) delete require.cache[file]
  }
  logOn(await open(folder && `${folder}-copy`), 'copy')
}

async function main () {
  const run = async () => { for (const name of names.split(' + ')) await rows[name]() }
  if (position === 'before') await run()
  if (names === 'a worker thread' && isMainThread) {
    return new Worker(__filename, { workerData: process.argv })
  }
  if (names === 'cluster' && cluster.isPrimary) {
    return cluster.fork()
  }
  const logger = await open(folder)
  if (position === 'after') await run()
  logOn(logger, 'main')
}

main()
