'use strict'
// Lines that are logged while the log opens, or while it cannot be opened: none is lost, and the log is found again.

const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const pino = require('pino')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { temporaryFolder, until } = require('@millrace/testkit')
const { destination } = require('..')
const { HEAD, newFolder, readAll } = require('./helper')

const failure = (code) => Object.assign(new Error(`planned ${code}`), { code })

/** Collects what goes to standard error, and what is reported. */
function collect () {
  const lines = []
  const reports = []
  return {
    lines,
    reports,
    options: {
      standardError: { write: (bytes) => lines.push(JSON.parse(bytes)) },
      onReport: (err) => reports.push(err)
    }
  }
}

tape('startup: a burst before the log is open drops nothing', async (t) => {
  for (const options of [{}, { handleSignals: false }, { whenFull: 'wait' }]) {
    const folder = newFolder()
    const to = destination(folder, options)
    const logger = pino(to)
    for (let n = 0; n < 30_000; n++) logger.info({ n }, 'line at start')
    await promisify(to.flush).call(to)
    const { total, diverted } = to.writer.counters()
    t.deepEqual([total.written, total.dropped, diverted], [30_000, 0, 0])
    await to.close()
    const found = await readAll(folder)
    t.equal(found.length, 30_000)
    t.ok(found.every(({ n }, index) => n === index), 'in order')
  }
})

/** Each makes a folder unusable, and returns what makes it usable again. */
const causes = {
  'the folder is a file': (folder) => {
    fs.writeFileSync(folder, 'no folder')
    return () => fs.rmSync(folder)
  },
  'its place is a file': (folder) => {
    fs.rmdirSync(path.dirname(folder))
    fs.writeFileSync(path.dirname(folder), 'no folder')
    return () => fs.rmSync(path.dirname(folder))
  },
  'another process has it': async (folder) => {
    const other = destination(folder)
    await other.ready()
    return () => other.close()
  }
}

for (const [cause, spoil] of Object.entries(causes)) {
  tape(`startup: the log is found again if ${cause}`, async (t) => {
    const folder = newFolder()
    const repair = await spoil(folder)
    const { lines, reports, options } = collect()
    const to = destination(folder, options)
    await to.ready()
    const logger = pino(to)
    for (let n = 0; n < 3; n++) logger.info({ n })
    await until(() => lines.length === 3)
    t.equal(reports.length, 1, `told once: ${reports[0]?.code}`)
    t.match(reports[0].message, /records go to standard error until a log can be opened/)
    await repair()
    await until(() => reports.length === 2)
    t.equal(reports[1].code, 'ERR_LOG_WAS_DIVERTED')
    t.match(reports[1].message, /3 records went to standard error/)
    logger.info({ n: 3 })
    await to.close()
    const found = await readAll(folder)
    t.deepEqual(found.map(({ n, gap }) => n ?? { [gap.reason]: gap.count }), [{ diverted: 3 }, 3])
  })
}

tape('startup: the log is found again after each failure of the system', async (t) => {
  for (const code of ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EIO', 'ENOMEM', 'ESTALE', 'EBUSY']) {
    const folder = newFolder()
    let failureCount = 3
    const open = (file, options, cb) => {
      if (failureCount-- > 0) process.nextTick(cb, failure(code))
      else fileStorage.open(file, options, cb)
    }
    const { lines, reports, options } = collect()
    const to = destination(folder, { ...options, log: { storage: { ...fileStorage, open } } })
    const logger = pino(to)
    await to.ready()
    logger.info({ n: 0 })
    await until(() => reports.some((err) => err.code === 'ERR_LOG_WAS_DIVERTED'))
    logger.info({ n: 1 })
    t.deepEqual(reports.map((err) => err.code), [code, 'ERR_LOG_WAS_DIVERTED'])
    await to.close()
    const found = (await readAll(folder)).map(({ n, gap }) => n ?? gap.reason)
    t.deepEqual([lines.map(({ n }) => n), found], [[0], ['diverted', 1]])
  }
})

const canMount = process.platform === 'linux' && process.getuid?.() === 0 && process.env.MILLRACE_TESTS === 'long'

tape('startup: the log is found again after a full disk', { skip: canMount ? false : 'needs root, and --long' }, async (t) => {
  const disk = temporaryFolder()
  t.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).status, 0)
  t.teardown(() => spawnSync('umount', ['-l', disk]))
  const filler = path.join(disk, 'filler')
  try {
    fs.writeFileSync(filler, Buffer.alloc(2 ** 21))
  } catch {
    // That is the purpose.
  }
  const { lines, reports, options } = collect()
  const to = destination(path.join(disk, 'logs'), options)
  const logger = pino(to)
  logger.info({ n: 0 })
  await until(() => lines.length === 1)
  fs.rmSync(filler)
  await until(() => reports.length === 2)
  for (let n = 1; n <= 100; n++) logger.info({ n })
  await to.close()
  t.equal((await readAll(path.join(disk, 'logs'))).length, 101)
})

/** Runs a program whose standard error is a pipe, and reads that as `read` does. */
async function runWithPipe (program, read) {
  const child = spawn(process.execPath, ['-e', HEAD + program, newFolder()], { cwd: __dirname, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  const text = await read(child.stderr)
  const [code] = await ended
  return { code, found: text.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line).n) }
}

const COUNT = 5000
const early = `const logger = pino(destination(folder)); for (let n = 0; n < ${COUNT}; n++) logger.info({ n }, 'payment')`
const ends = {
  'process.exit': `${early}; process.exit(1)`,
  'a throw': `${early}; throw new Error('planned')`,
  'an exit handler': `process.on('exit', () => { ${early} })`,
  'a folder that is none': `const logger = pino(destination('/dev/null/x', { onReport: () => {} })); setTimeout(() => {
    for (let n = 0; n < ${COUNT}; n++) logger.info({ n }, 'payment')
    process.kill(process.pid, 'SIGKILL')
  }, 200)`
}

for (const [what, program] of Object.entries(ends)) {
  tape(`startup: lines are on standard error, a pipe that is read slowly, if the process ends with ${what}`, async (t) => {
    const { found } = await runWithPipe(program, async (pipe) => {
      let text = ''
      for await (const chunk of pipe) {
        text += chunk
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      return text
    })
    t.equal(found.length, COUNT)
    t.ok(found.every((n, index) => n === index), 'in order')
  })
}

tape('startup: a pipe that nobody reads, or that is closed, does not stop the process', async (t) => {
  const still = await runWithPipe(`${early}; process.exit(7)`, (pipe) => new Promise((resolve) => {
    // Nothing is read before the process has ended.
    setTimeout(resolve, 4000, '')
    pipe.pause()
  }))
  t.equal(still.code, 7)
  const gone = await runWithPipe(`${early}; process.exit(8)`, async (pipe) => {
    pipe.destroy()
    return ''
  })
  t.equal(gone.code, 8)
})
