'use strict'
// A process that ends without closing its log: nothing is lost that was acknowledged, nothing is locked, and if there
// was time for it the log is as if it had been closed.

const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { collect, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { readHead } = require('@millrace/framing')

const HEAD = `
  const { OffsetLog } = require(${JSON.stringify(require.resolve('..'))})
  const file = process.argv[1]
  const record = (text) => Buffer.from(text)
`

/** Runs a program that has `OffsetLog`, `file` and `record`. */
function run (program, file) {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['-e', HEAD + program, file], { encoding: 'utf8' })
  return { status, signal, out: stdout.trim(), err: stderr.trim() }
}

/** @returns {boolean}  whether the log says that it was closed, and what lies in its folder is it alone */
function wasClosed (t, file) {
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'], 'nothing is left beside it')
  const bytes = fs.readFileSync(file)
  const { slot, journals } = readHead(bytes.subarray(0, 32768), file)
  return slot.reservedEnd === 0 && slot.end === bytes.length && journals.length === 0
}

async function readAll (file) {
  const log = OffsetLog(file, { flags: 'r' })
  const found = (await collect(log.stream({ seqs: false }))).map(String)
  await log.close()
  return found
}

const endings = {
  'runs out of work': '',
  'calls process.exit': 'process.exit()',
  'fails with an exception': 'throw new Error("planned")',
  'rejects a promise': 'Promise.reject(new Error("planned"))'
}

for (const [what, ending] of Object.entries(endings)) {
  for (const fsync of ['always', 'interval', 'never']) {
    tape(`process end, ${fsync}: one that ${what} leaves its log as if it were closed`, async (t) => {
      const file = newPath('log')
      for (let round = 0; round < 3; round++) {
        run(`const log = OffsetLog(file, { fsync: '${fsync}' }); log.append(record('${round}'), (err) => {
          if (err) throw err
          setTimeout(() => { ${ending} }, 10)
        })`, file)
        t.ok(wasClosed(t, file))
      }
      t.deepEqual(await readAll(file), ['0', '1', '2'])
      const log = OffsetLog(file)
      t.ok(await log.append(Buffer.from('3')) < 2 ** 31, 'no seqs are left out')
      t.equal(log.recovery, null)
      await log.close()
    })
  }
}

tape('process end: a log with deletions is finished too, one that was only opened is left as it was', async (t) => {
  for (const ending of ['', 'process.exit()']) {
    const file = newPath('log')
    run(`
      const log = OffsetLog(file)
      log.append([record('a'), record('b'), record('c')], () => log.stream({ values: false })(null, (end, seq) => {
        log.del(seq, () => setTimeout(() => { ${ending} }, 10))
      }))
    `, file)
    t.ok(wasClosed(t, file))
    t.deepEqual(await readAll(file), ['b', 'c'])
    const before = fs.readFileSync(file)
    run(`const log = OffsetLog(file); log.ready(() => { ${ending} })`, file)
    t.ok(before.equals(fs.readFileSync(file)))
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
  }
})

tape('process end: a log that was finished when there was no more work is still in use', async (t) => {
  const file = newPath('log')
  const { out } = run(`
    const log = OffsetLog(file)
    let count = 0
    log.append(record('before'))
    process.on('beforeExit', () => {
      if (count++ === 3) process.kill(process.pid, 'SIGKILL')
      const append = () => log.append(record('again ' + count), () => console.log('again'))
      if (count % 2) append()
      else setTimeout(append, 10)
      setTimeout(() => {}, 10)
    })
  `, file)
  t.equal(out, 'again\nagain\nagain')
  t.deepEqual(await readAll(file), ['before', 'again 1', 'again 2', 'again 3'])
})

tape('process end: what is appended after it was finished is reserved first again', async (t) => {
  const file = newPath('log')
  run(`
    const log = OffsetLog(file, { fsync: 'never' })
    log.append(record('before'))
    const appendAndDie = () => log.append(record('after'), () => process.kill(process.pid, 'SIGKILL'))
    process.once('beforeExit', () => setTimeout(appendAndDie, 50))
  `, file)
  const { slot } = readHead(fs.readFileSync(file).subarray(0, 32768), file)
  t.ok(slot.reservedEnd > 2 ** 32)
  t.deepEqual(await readAll(file), ['before', 'after'])
})

tape('process end: an exit in the middle of a write, a sync or a deletion leaves the mark of an unclean end', async (t) => {
  const size = 4 * 1024 * 1024
  const cases = {
    write: `log.append(Buffer.alloc(${size}, 1), () => {}); setImmediate(() => setImmediate(() => process.exit()))`,
    sync: `log.append(Buffer.alloc(${size}, 1), () => { log.sync(() => {}); process.exit() })`,
    deletion: `log.append(Buffer.alloc(${size}, 1), (err, seq) => {
      log.del(seq, () => {})
      setImmediate(() => process.exit())
    })`,
    compaction: `log.append(Buffer.alloc(${size}, 1), () => { log.compact(() => {}); setImmediate(() => process.exit()) })`
  }
  for (const [what, program] of Object.entries(cases)) {
    const file = newPath('log')
    run("const log = OffsetLog(file); log.append(record('first'), () => log.sync(() => log.close()))", file)
    run(`const log = OffsetLog(file); log.append(record('second'), () => log.sync(() => { ${program} }))`, file)
    const log = OffsetLog(file)
    await log.ready()
    const found = (await collect(log.stream({ seqs: false }))).map((value) => String(value).slice(0, 6))
    t.deepEqual(found.slice(0, 2), ['first', 'second'], what)
    t.deepEqual(log.recovery?.damage ?? [], [])
    await log.close()
    t.deepEqual(fs.readdirSync(path.dirname(file)).filter((name) => !name.includes('.cut-')), ['log'])
  }
})

tape('process end: with an append in the same turn as the exit nothing breaks', async (t) => {
  const file = newPath('log')
  for (let round = 0; round < 5; round++) {
    run(`
      const log = OffsetLog(file)
      log.append(record('${round}'), () => {
        log.append(record('lost'))
        ${['process.exit()', 'process.nextTick(process.exit)', 'setImmediate(process.exit)'][round % 3]}
      })
    `, file)
  }
  const found = (await readAll(file)).filter((text) => text !== 'lost')
  t.deepEqual(found, ['0', '1', '2', '3', '4'])
})

tape('process end: a worker thread that ends by itself or exits', async (t) => {
  for (const ending of ['', 'process.exit()']) {
    const file = newPath('log')
    run(`
      const { Worker } = require('node:worker_threads')
      new Worker(${JSON.stringify(HEAD.replace('argv[1]', 'argv[2]'))} + "OffsetLog(file).append(record('of a worker'), () => setTimeout(() => { ${ending} }, 10))",
        { eval: true, argv: [file] })
    `, file)
    t.ok(wasClosed(t, file), ending || 'by itself')
    t.deepEqual(await readAll(file), ['of a worker'])
  }
})

tape('process end: a log of an offset framing is synced, and unlocked', async (t) => {
  for (const ending of ['', 'process.exit()']) {
    const file = newPath('log')
    run(`OffsetLog(file, { framing: 'offset48' }).append(record('one'), () => { ${ending} })`, file)
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
    t.deepEqual(await readAll(file), ['one'])
  }
})

tape('process end: a poisoned log is not marked clean', async (t) => {
  const file = newPath('log')
  const { out } = run(`
    const { fileStorage } = require(${JSON.stringify(require.resolve('@millrace/block-file'))})
    let isBad = false
    const fail = () => Object.assign(new Error('bad disk'), { code: 'EIO' })
    const open = (path, options, cb) => fileStorage.open(path, options, (err, handle) => cb(err, handle && {
      ...handle,
      sync: (cb) => isBad ? process.nextTick(cb, fail()) : handle.sync(cb),
      syncSync: () => { if (isBad) throw fail(); handle.syncSync() }
    }))
    const storage = { ...fileStorage, open }
    const log = OffsetLog(file, { storage })
    log.append(record('one'), () => log.sync(() => {
      isBad = true
      log.append(record('two'), () => log.sync((err) => {
        isBad = false
        console.log(err.code)
      }))
    }))
  `, file)
  t.equal(out, 'ERR_LOG_POISONED')
  const { slot } = readHead(fs.readFileSync(file).subarray(0, 32768), file)
  t.ok(slot.reservedEnd > 0)
})

tape('process end: no listener stays when no log is open', async (t) => {
  const counts = () => ['exit', 'beforeExit'].map((name) => process.listenerCount(name))
  const before = counts()
  const logs = Array.from({ length: 20 }, () => OffsetLog(newPath('log')))
  await Promise.all(logs.map((log) => log.ready()))
  t.deepEqual(counts(), before.map((count) => count + 1), 'one for all')
  await Promise.all(logs.map((log) => log.close()))
  t.deepEqual(counts(), before)
})

tape('process end: the recipe for SIGTERM and SIGINT closes the log', { skip: process.platform === 'win32' }, async (t) => {
  const readme = fs.readFileSync(path.join(__dirname, '..', 'README.md'), 'utf8')
  const [, recipe] = /\n(\/\/ Shutdown[^`]+)```/.exec(readme) ?? []
  t.ok(recipe, 'the README has it')
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const file = newPath('log')
    const program = `${HEAD}
      const log = OffsetLog(file)
      ${recipe}
      const append = () => log.append(record('x'), (err) => err ? null : setImmediate(append))
      append()
      setInterval(() => {}, 1000)
      log.ready(() => console.log('open'))
    `
    const child = spawn(process.execPath, ['-e', program, file], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    setTimeout(() => child.kill(signal), 50)
    const [code, endedBy] = await once(child, 'exit')
    t.equal(endedBy ?? code, signal, 'it ends as it would without')
    t.ok(wasClosed(t, file))
    t.ok((await readAll(file)).length > 0)
  }
})

const loop = (options) => `for await (const { value } of log.stream({ ${options} })) { console.log(String(value)); break }`
const pull = (options) => `await new Promise((resolve) => log.stream({ ${options} })(null, (end, { value }) => {
  console.log(String(value))
  resolve()
}))`
const LIVE = {
  'an async iterator': [loop('live: true'), true],
  'an async iterator, unref': [loop('live: true, unref: true'), false],
  'a pull-stream': [pull('live: true'), false],
  'a pull-stream, ref': [pull('live: true, ref: true'), true]
}

for (const [what, [program, staysAlive]] of Object.entries(LIVE)) {
  tape(`process end: ${what} that waits for an append ${staysAlive ? 'keeps' : 'does not keep'} its process running`, async (t) => {
    const file = newPath('log')
    const { out, status } = run(`
      const log = OffsetLog(file)
      setTimeout(() => log.append(record('late')), 300).unref()
      ;(async () => { await log.ready(); ${program} })()
    `, file)
    t.equal(out, staysAlive ? 'late' : '')
    t.equal(status, 0)
  })
}

tape('process end: a source that is iterated while a pull of it waits takes nothing from the live loops of others', async (t) => {
  const file = newPath('log')
  const { out, status } = run(`
    const log = OffsetLog(file)
    ;(async () => {
      await log.ready()
      const source = log.stream({ live: true })
      const pulled = new Promise((resolve) => source(null, resolve))
      await new Promise((resolve) => setTimeout(resolve, 50))
      source[Symbol.asyncIterator]()
      await log.append(record('first'))
      await pulled
      source(true, () => {})
      setTimeout(() => log.append(record('late')), 300).unref()
      ${loop('live: true, old: false')}
    })()
  `, file)
  t.equal(out, 'late')
  t.equal(status, 0)
})

tape('process end: a live stream that was left, or whose log is closed, keeps nothing running', async (t) => {
  const file = newPath('log')
  const { out, status } = run(`
    const log = OffsetLog(file)
    ;(async () => {
      const stream = log.stream({ live: true })[Symbol.asyncIterator]()
      const waiting = stream.next()
      setTimeout(() => stream.return(), 50)
      await waiting
      const other = log.stream({ live: true })[Symbol.asyncIterator]().next()
      setTimeout(() => log.close(), 50)
      await other
      console.log('done')
    })()
  `, file)
  t.equal(out, 'done')
  t.equal(status, 0)
})
