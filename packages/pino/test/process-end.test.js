'use strict'
// However a process or a thread ends, its lines are in the log.

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const tape = require('tape')
const { HEAD, newFolder, readAll, run, upTo } = require('./helper')

const LOGGER = `
  const to = destination(folder)
  const logger = pino(to)
  const logMany = (begin, count) => { for (let n = begin; n < begin + count; n++) logger.info({ n }) }
`

const endings = {
  'has nothing more to do, before the log is open': 'logMany(0, 1000)',
  'has nothing more to do': 'to.ready().then(() => logMany(0, 1000))',
  'calls process.exit': 'to.ready().then(() => { logMany(0, 1000); process.exit() })',
  'calls process.exit while lines are being written': 'to.ready().then(() => { logMany(0, 600); process.nextTick(() => { logMany(600, 400); process.exit() }) })',
  throws: 'to.ready().then(() => setImmediate(() => { logMany(0, 1000); throw new Error("planned") }))',
  'throws in an exit handler': 'to.ready().then(() => { logMany(0, 1000); process.exit() }); process.on("exit", () => { throw new Error("planned") })',
  'logs in an exit handler': 'to.ready().then(() => process.exit()); process.on("exit", () => logMany(0, 1000))',
  'logs in an exit handler that was there first': 'to.ready().then(() => process.exit()); process.prependListener("exit", () => logMany(0, 1000))',
  'logs in beforeExit': 'to.ready(); process.once("beforeExit", () => logMany(0, 1000))',
  'logs what it catches': 'to.ready().then(() => setImmediate(() => { throw new Error("planned") })); process.on("uncaughtException", () => { logMany(0, 1000); process.exit(1) })',
  'ends the destination and exits': 'to.ready().then(() => { logMany(0, 1000); to.end(); process.exit() })'
}

for (const [what, program] of Object.entries(endings)) {
  tape(`process end: nothing is lost if the process ${what}`, async (t) => {
    const folder = newFolder()
    const { stderr } = run(LOGGER + program, folder)
    t.deepEqual((await readAll(folder)).map(({ n }) => n), upTo(1000))
    if (!what.includes('throws')) t.equal(stderr, '')
  })
}

tape('process end: if it comes before the log is open, the lines are on standard error', (t) => {
  const { stderr, status } = run(`${LOGGER} logMany(0, 3); process.exit(3)`, newFolder())
  t.equal(status, 3)
  t.deepEqual(stderr.trim().split('\n').map((line) => JSON.parse(line).n), [0, 1, 2])
  t.end()
})

tape('process end: half a line is a line', async (t) => {
  const folder = newFolder()
  run(`${LOGGER} to.ready().then(() => { to.write('{"n":0'); to.write('}'); process.exit() })`, folder)
  t.deepEqual(await readAll(folder), [{ n: 0 }])
})

tape('process end: worker threads have a log each', async (t) => {
  const folders = [newFolder(), newFolder()]
  run(`
    const { Worker } = require('node:worker_threads')
    const program = ${JSON.stringify(HEAD.replace('process.argv', '[0, require("node:worker_threads").workerData]') + LOGGER)}
    for (const folder of ${JSON.stringify(folders)}) {
      new Worker(program + 'to.ready().then(() => { logMany(0, 1000); process.exit() })', { eval: true, workerData: folder })
    }
  `, '')
  for (const folder of folders) t.deepEqual((await readAll(folder)).map(({ n }) => n), upTo(1000))
})

tape('process end: a broken pipe on standard error ends nothing', async (t) => {
  const program = `
    const to = destination('/dev/null/no-folder', { onReport: () => {} })
    const logger = pino(to)
    let count = 0
    const timer = setInterval(() => { logger.info({ text: 'x'.repeat(10000) }); if (++count === 50) { clearInterval(timer); process.exit(7) } }, 1)
  `
  const child = spawn(process.execPath, ['-e', HEAD + program, ''], { cwd: __dirname, stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr.destroy()
  const [code] = await once(child, 'close')
  t.equal(code, 7)
})
