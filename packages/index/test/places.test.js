// @ts-nocheck
'use strict'
// Places and operations: wherever a log and the files of its index lie, and whatever happened to them, each answer is
// that of a scan, appends go on, a failure says what was found and what to do, and files of others stay.

const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect, newPath } = require('@millrace/testkit')
const { createIndex } = require('..')

const PATHS = ['type', { path: 'n', range: true }]
const TUNING = { recordsMax: 50, fanOut: 3, waitMs: 1 }
const RECORDS = 160
const FILTERS = [{ path: 'type', equals: 't3' }, { path: 'n', gte: 20, lt: 25 }, { path: 'type', equals: 'secret' }]
const RUN = '0000000000000000-0000000000000100-0123456789ab.run'

const newIndex = (paths = PATHS) => createIndex(paths, { tuning: TUNING })
const makeValue = (n) => ({ type: `t${n % 40}`, n })

function openLog (file, options) {
  return OffsetLog(file, { codec: jsonCodec, index: newIndex(), ...options })
}

/** A log with an index that is written, and a record of a type of its own. */
async function makeLog (file = newPath('events.log')) {
  const log = openLog(file)
  for (let n = 0; n < RECORDS; n++) await log.append(makeValue(n))
  await log.append({ type: 'secret', n: -1 })
  await log.index.ready()
  await log.close()
  return file
}

/** How the answers of a log differ from those of a scan of its file. */
async function differences (log, file) {
  const found = []
  const plain = OffsetLog(file, { codec: jsonCodec, flags: 'r' })
  for (const where of FILTERS) {
    for (const reverse of [false, true]) {
      const options = { where, reverse, values: false }
      const [wanted, got] = await Promise.all([plain, log].map((log) => collect(log.stream(options))))
      if (String(wanted) !== String(got)) found.push(`${JSON.stringify(where)}: ${got}, not ${wanted}`)
    }
    const [wanted, got] = await Promise.all([plain, log].map((log) => log.count({ where })))
    if (wanted !== got) found.push(`count ${JSON.stringify(where)}: ${got}, not ${wanted}`)
  }
  await plain.close()
  return found
}

const removeIndex = (file) => fs.rmSync(`${file}.index`, { recursive: true })

/** A storage that fails each change of a file whose path matches. */
function failingStorage (pattern, code, names = ['open', 'rename', 'unlink', 'syncFolder']) {
  const failing = Object.create(fileStorage)
  const fail = (file) => Object.assign(new Error(`${code}: simulated, '${file}'`), { code, path: file })
  for (const name of names) {
    failing[name] = (...args) => {
      const [file, options] = args
      const isChange = name !== 'open' || options.flags !== 'r' || code === 'EMFILE'
      if (pattern.test(file) && isChange) process.nextTick(args.at(-1), fail(file))
      else fileStorage[name](...args)
    }
  }
  return failing
}

/**
 * By name: makes the place of a log that has an index, and gives the path to open; and what else is known of it:
 * `options` of the log, `code` of the failure that its status tells, `stays`: files of others.
 */
const places = {
  'beside its index': async () => ({ file: await makeLog() }),
  'without an index': async () => {
    const file = await makeLog()
    removeIndex(file)
    return { file }
  },
  'through a symlink': async () => {
    const file = await makeLog()
    const link = newPath('link.log')
    fs.symlinkSync(file, link)
    return { file: link, holds: `${file}.index`, never: `${link}.index` }
  },
  'through a symlink to a symlink in another folder': async () => {
    const file = await makeLog()
    const [first, second] = [newPath('first.log'), newPath('second.log')]
    fs.symlinkSync(file, first)
    fs.symlinkSync(path.relative(path.dirname(second), first), second)
    return { file: second, holds: `${file}.index`, never: `${second}.index` }
  },
  'in a folder that is a symlink': async () => {
    const file = await makeLog()
    const link = newPath('link')
    fs.symlinkSync(path.dirname(file), link)
    return { file: path.join(link, 'events.log'), holds: `${file}.index` }
  },
  'whose index is a symlink to a folder': async () => {
    const file = await makeLog()
    const elsewhere = newPath('elsewhere')
    fs.renameSync(`${file}.index`, elsewhere)
    fs.symlinkSync(elsewhere, `${file}.index`)
    return { file, holds: elsewhere }
  },
  'whose index is a symlink to nothing': async () => {
    const file = await makeLog()
    removeIndex(file)
    fs.symlinkSync(newPath('nowhere', 'none'), `${file}.index`)
    return { file, code: 'ENOTDIR' }
  },
  'whose index is a file': async () => {
    const file = await makeLog()
    removeIndex(file)
    fs.writeFileSync(`${file}.index`, 'mine')
    return { file, code: 'ENOTDIR', stays: [`${file}.index`] }
  },
  'moved with its index': async () => {
    const file = await makeLog()
    const moved = newPath('moved.log')
    for (const end of ['', '.index']) fs.renameSync(file + end, moved + end)
    return { file: moved, isUsed: true }
  },
  'moved without its index': async () => {
    const file = await makeLog()
    const moved = newPath('moved.log')
    fs.renameSync(file, moved)
    return { file: moved }
  },
  'copied with its index': async () => {
    const file = await makeLog()
    const copy = newPath('copy.log')
    fs.cpSync(path.dirname(file), path.dirname(copy), { recursive: true })
    fs.renameSync(path.join(path.dirname(copy), 'events.log'), copy)
    fs.renameSync(path.join(path.dirname(copy), 'events.log.index'), `${copy}.index`)
    return { file: copy, isUsed: true }
  },
  'with the index of another log': async () => {
    const [file, other] = [await makeLog(), await makeLog()]
    removeIndex(file)
    fs.cpSync(`${other}.index`, `${file}.index`, { recursive: true })
    return { file }
  },
  'older than its index': async () => {
    const file = await makeLog()
    const older = fs.readFileSync(file)
    const log = openLog(file)
    for (let n = 0; n < 60; n++) await log.append({ type: 't3', n: 21 })
    await log.index.ready()
    await log.close()
    fs.writeFileSync(file, older)
    return { file }
  },
  'newer than its index': async () => {
    const file = await makeLog()
    const log = OffsetLog(file, { codec: jsonCodec })
    for (let n = 0; n < 60; n++) await log.append({ type: 't3', n: 21 })
    await log.close()
    return { file, isUsed: true }
  },
  'with an index of other paths': async () => {
    const file = await makeLog()
    return { file, options: { index: newIndex(['n']) } }
  },
  'with a folder that has the name of a run': async () => {
    const file = await makeLog()
    const inside = path.join(`${file}.index`, RUN)
    fs.mkdirSync(inside)
    fs.writeFileSync(path.join(inside, 'notes'), 'mine')
    return { file, stays: [path.join(inside, 'notes')] }
  },
  'whose runs are FIFOs': async () => {
    const file = await makeLog()
    for (const name of fs.readdirSync(`${file}.index`)) {
      fs.rmSync(path.join(`${file}.index`, name))
      execFileSync('mkfifo', [path.join(`${file}.index`, name)])
    }
    return { file }
  },
  'with a file of somebody else in its index': async () => {
    const file = await makeLog()
    fs.writeFileSync(path.join(`${file}.index`, 'notes'), 'mine')
    return { file, stays: [path.join(`${file}.index`, 'notes')] }
  },
  'whose name ends with .index': async () => ({ file: await makeLog(newPath('events.index')) }),
  'beside a log that has the name of its index': async () => {
    const file = await makeLog()
    removeIndex(file)
    await makeLog(`${file}.index`)
    return { file, code: 'ENOTDIR', stays: [`${file}.index`] }
  },
  'whose name is the longest that a log can have': async () => ({ file: await makeLog(newPath(`${'x'.repeat(240)}.log`)), isUsed: true }),
  'that can only be read, as its name leaves no room for that of an index': async () => {
    const file = newPath(`${'x'.repeat(251)}.log`)
    fs.renameSync(await makeLog(), file)
    return { file, lacks: Object.keys(operations).filter((name) => name !== 'read') }
  },
  'with an index on a disk that is full': async () => {
    const file = await makeLog()
    removeIndex(file)
    return { file, code: 'ENOSPC', options: { storage: failingStorage(/\.index/, 'ENOSPC', ['open']) } }
  },
  'with an index that may not be written': async () => {
    const file = await makeLog()
    removeIndex(file)
    return { file, code: 'EACCES', options: { storage: failingStorage(/\.index/, 'EACCES') } }
  },
  'with an index that may not be listed': async () => {
    const file = await makeLog()
    return { file, code: 'EACCES', blocksCompact: true, options: { storage: failingStorage(/\.index/, 'EACCES', ['listFolder', 'open', 'unlink']) } }
  },
  'with an index on a disk that is only read': async () => {
    const file = await makeLog()
    // There are runs, and the last records can have none.
    return { file, isUsed: true, code: 'EROFS', blocksCompact: true, options: { storage: failingStorage(/\.index/, 'EROFS') } }
  },
  'with an index that has no descriptor left': async () => {
    const file = await makeLog()
    return { file, code: 'EMFILE', options: { storage: failingStorage(/\.index/, 'EMFILE', ['open']) } }
  }
}

/** What is done to the log in a place. Each gives what is wrong. */
const operations = {
  async read ({ file, options, isUsed }) {
    const log = openLog(file, { ...options, flags: 'r' })
    await log.ready()
    await log.index.ready().catch(() => {})
    const wrong = await differences(log, file)
    if (isUsed && (await log.index.status()).runs === 0) wrong.push('no run is used')
    await log.close()
    return wrong
  },
  async append ({ file, options, code, isUsed, holds, never }) {
    const log = openLog(file, options)
    const wrong = []
    await log.ready()
    if (isUsed) {
      await log.stream({ where: FILTERS[0] })[Symbol.asyncIterator]().next()
      await new Promise((resolve) => { setImmediate(resolve) })
    }
    for (let n = 0; n < 70; n++) await log.append({ type: 't3', n: 21 })
    wrong.push(...await differences(log, file))
    const err = await log.index.ready().then(() => null, (err) => err)
    wrong.push(...await differences(log, file))
    const { failure, size } = await log.index.status()
    if ((err?.code ?? null) !== (code ?? null)) wrong.push(`ready() failed with ${err?.stack}`)
    if (failure !== err) wrong.push('the status tells another failure')
    if (failure !== null) {
      if (!(failure instanceof LogError) || !failure.path?.startsWith(fs.realpathSync(file))) wrong.push(`${failure.stack} is raw`)
      if (!failure.message.includes('.index')) wrong.push(`"${failure.message}" does not say where`)
    }
    if (code === undefined && size === 0) wrong.push('no run was written')
    if (holds !== undefined && fs.readdirSync(holds).length === 0) wrong.push(`no run is in ${holds}`)
    if (never !== undefined && fs.existsSync(never)) wrong.push(`there is ${never}`)
    await log.close()
    return wrong
  },
  async compact ({ file, options, blocksCompact = false }) {
    const log = openLog(file, options)
    const wrong = []
    await log.index.ready().catch(() => {})
    await log.del(await log.last({ where: FILTERS[2], values: false }))
    wrong.push(...await differences(log, file))
    const folder = `${fs.realpathSync(file)}.index`
    const listRuns = () => fs.existsSync(folder) && fs.statSync(folder).isDirectory() ? fs.readdirSync(folder).filter((name) => name !== RUN && name.endsWith('.run')) : []
    const runs = listRuns()
    const err = await log.compact().then(() => null, (err) => err)
    if ((err !== null) !== blocksCompact) wrong.push(`compact: ${err?.stack ?? 'runs stay, and nothing says so'}`)
    if (err !== null && !(err instanceof LogError)) wrong.push(`${err.stack} is raw`)
    await log.index.ready().catch(() => {})
    wrong.push(...await differences(log, file))
    await log.close()
    const left = listRuns().filter((name) => runs.includes(name))
    if (!blocksCompact && left.length > 0) wrong.push(`${left} are still there`)
    return wrong
  },
  async compactWithoutIndex ({ file, options, blocksCompact = false }) {
    const log = openLog(file, { ...options, index: undefined })
    await log.del(await log.last({ where: FILTERS[2], values: false }))
    const err = await log.compact().then(() => null, (err) => err)
    const wrong = (err !== null) === blocksCompact ? [] : [`compact: ${err?.stack ?? 'runs stay, and nothing says so'}`]
    if (err !== null && !(err instanceof LogError)) wrong.push(`${err.stack} is raw`)
    wrong.push(...await differences(log, file))
    await log.close()
    return wrong
  },
  async drop ({ file, options, blocksCompact = false }) {
    const log = openLog(file, options)
    await log.index.ready().catch(() => {})
    const err = await log.index.drop().then(() => null, (err) => err)
    const wrong = (err !== null) === blocksCompact ? [] : [`drop: ${err?.stack ?? 'runs stay, and nothing says so'}`]
    if (err !== null && !(err instanceof LogError)) wrong.push(`${err.stack} is raw`)
    wrong.push(...await differences(log, file))
    for (let n = 0; n < 5; n++) await log.append({ type: 't3', n: 21 })
    wrong.push(...await differences(log, file))
    await log.close()
    return wrong
  }
}

for (const [place, make] of Object.entries(places)) {
  const skip = place === 'whose runs are FIFOs' && process.platform === 'win32'
  tape(`places: a log ${place}`, { skip }, async (t) => {
    for (const [name, operate] of Object.entries(operations)) {
      const found = await make()
      const { file, stays = [], lacks = [] } = found
      if (lacks.includes(name)) continue
      const before = stays.map((name) => String(fs.readFileSync(name)))
      const wrong = await operate(found)
      stays.forEach((name, at) => {
        if (!fs.existsSync(name) || String(fs.readFileSync(name)) !== before[at]) wrong.push(`${name} has changed`)
      })
      t.deepEqual(wrong, [], `${name}: ${path.basename(file).slice(0, 20)}`)
    }
  })
}

for (const [kind, Log] of [['a file', OffsetLog], ['segments', SegmentedLog]]) {
  tape(`places: ${kind}: a record that the log does not read as it is too large stops no index, and reads of it fail as without`, async (t) => {
    const file = newPath('large')
    const first = Log(file, { codec: jsonCodec })
    for (let n = 0; n < RECORDS; n++) {
      const value = n === 70 ? { type: 't3', text: 'x'.repeat(5000) } : makeValue(n)
      await first.append(value)
    }
    await first.close()
    const options = { codec: jsonCodec, maxRecordSize: 1000 }
    const log = Log(file, { ...options, index: newIndex() })
    await log.index.ready()
    const { failure, runs } = await log.index.status()
    t.equal(failure, null)
    t.ok(runs > 1, 'there are runs after it')
    const plain = Log(file, { ...options, flags: 'r' })
    for (const where of FILTERS) {
      for (const limits of [{ limit: 2 }, {}, { reverse: true, limit: 2 }]) {
        const ask = (log) => collect(log.stream({ where, values: false, ...limits })).then(String, ({ code }) => code)
        t.equal(await ask(log), await ask(plain), JSON.stringify({ where, ...limits }))
      }
      const count = (log) => log.count({ where }).catch(({ code }) => code)
      t.equal(await count(log), await count(plain))
    }
    await plain.close()
    await log.close()
  })
}

tape('places: the files of an index have the mode of the log', { skip: process.platform === 'win32' }, async (t) => {
  const modeOf = (file) => (fs.statSync(file).mode & 0o777).toString(8)
  const modesIn = (folder) => [...new Set(fs.readdirSync(folder).map((name) => modeOf(path.join(folder, name))))]
  const file = await makeLog()
  t.deepEqual(modesIn(`${file}.index`), ['600'])
  fs.chmodSync(file, 0o640)
  const log = openLog(file)
  await log.index.drop()
  await log.close()
  const again = openLog(file)
  await again.index.ready()
  await again.close()
  t.deepEqual(modesIn(`${file}.index`), ['640'])
  const folder = newPath('events')
  const segments = SegmentedLog(folder, { codec: jsonCodec, index: newIndex(), mode: 0o644 })
  for (let n = 0; n < RECORDS; n++) await segments.append(makeValue(n))
  await segments.index.ready()
  await segments.close()
  t.deepEqual(modesIn(path.join(folder, 'index')), ['644'])
})

tape('places: the folder of an index has the owner of the log, who could not write into it any more', { skip: process.platform === 'win32' }, async (t) => {
  const file = await makeLog()
  removeIndex(file)
  fs.chmodSync(file, 0o640)
  if (process.getuid() === 0) fs.chownSync(file, 1000, 1001)
  const log = openLog(file)
  await log.index.ready()
  await log.close()
  const { uid, gid } = fs.statSync(file)
  const folder = fs.statSync(`${file}.index`)
  t.deepEqual({ uid: folder.uid, gid: folder.gid }, { uid, gid })
  t.equal((folder.mode & 0o777).toString(8), '750', 'who may read the log may look into it')
})

tape('places: runs of segments that were dropped just before the log is closed go with them', async (t) => {
  const folder = newPath('events')
  const log = SegmentedLog(folder, { codec: jsonCodec, index: newIndex() })
  for (let n = 0; n < RECORDS; n++) await log.append(makeValue(n))
  await log.index.ready()
  await log.roll()
  const seq = await log.append(makeValue(0))
  const before = fs.readdirSync(path.join(folder, 'index')).length
  await log.dropBefore(seq)
  await log.close()
  const left = fs.readdirSync(path.join(folder, 'index'))
  t.ok(before > 0 && left.every((name) => Number(name.split('-')[1]) > seq), `${before} runs, then ${left}`)
})

tape('places: the folder of a log is moved just before the first run is written: its old place is not made again', { skip: process.platform === 'win32' }, async (t) => {
  for (const [name, isMoment] of Object.entries({
    'before the run is made': (file) => file.endsWith('.run.new'),
    'once the folder of the index is missed': (file, { createFolder }) => file.endsWith('.run.new') && !createFolder
  })) {
    const folder = path.dirname(newPath('a'))
    const [from, to] = [path.join(folder, 'from'), path.join(folder, 'to')]
    fs.mkdirSync(from)
    let isMoved = false
    const move = (file, options) => {
      if (isMoved || !isMoment(file, options)) return
      isMoved = true
      fs.renameSync(from, to)
    }
    const storage = {
      ...fileStorage,
      open (file, options, cb) {
        if (name === 'before the run is made') move(file, options)
        fileStorage.open(file, options, (err, handle) => {
          move(file, options)
          cb(err, handle)
        })
      }
    }
    const log = OffsetLog(path.join(from, 'log'), { codec: jsonCodec, storage, index: newIndex() })
    // A log that notices that it was moved takes no more.
    for (let n = 0; n < RECORDS; n++) await log.append(makeValue(n)).catch((err) => t.ok(err instanceof LogError))
    await log.index.ready().catch((err) => t.ok(err instanceof LogError, err.message))
    await log.close().catch((err) => t.ok(err instanceof LogError, err.message))
    t.ok(isMoved, name)
    t.notOk(fs.existsSync(from), `moved ${name}`)
  }
})

for (const moved of ['the log', 'its folder']) {
  tape(`places: ${moved} is moved while it is open`, { skip: process.platform === 'win32' }, async (t) => {
    const folder = path.dirname(newPath('a'))
    const [from, to] = [path.join(folder, 'from'), path.join(folder, 'to')]
    fs.mkdirSync(from)
    if (moved === 'the log') fs.mkdirSync(to)
    const file = await makeLog(path.join(from, 'log'))
    const log = openLog(file)
    await log.index.ready()
    // No run has it yet.
    for (let n = 0; n < 40; n++) await log.append(makeValue(n))
    await log.sync()
    if (moved === 'the log') fs.renameSync(file, path.join(to, 'log'))
    else fs.renameSync(from, to)
    // A log that notices that it was moved takes no more.
    const refused = []
    for (let n = 0; n < RECORDS; n++) await log.append(makeValue(n)).catch((err) => refused.push(err))
    t.ok(refused.every((err) => err instanceof LogError), `${refused.length} appends failed`)
    await log.index.flush?.()
    await log.index.ready().catch((err) => t.ok(err instanceof LogError, err.message))
    t.deepEqual(await differences(log, path.join(to, 'log')), [])
    await log.close().catch((err) => t.ok(err instanceof LogError, err.message))
    if (moved === 'its folder') t.deepEqual(fs.existsSync(from) ? fs.readdirSync(from, { recursive: true }) : [], [], 'its old place is not made again')
    const again = openLog(path.join(to, 'log'))
    await again.index.ready()
    t.deepEqual(await differences(again, path.join(to, 'log')), [])
    await again.close()
  })
}

tape('places: the folder of the index is removed while the log is open', async (t) => {
  const file = await makeLog()
  const log = openLog(file)
  await log.index.ready()
  removeIndex(file)
  for (let n = 0; n < 3 * RECORDS; n++) await log.append(makeValue(n))
  await log.index.ready()
  t.deepEqual(await differences(log, file), [])
  await log.compact()
  await log.index.ready()
  t.deepEqual(await differences(log, file), [])
  await log.close()
  const again = openLog(file)
  await again.index.ready()
  t.deepEqual(await differences(again, file), [])
  await again.close()
})

tape('places: a copy of a log does not use the index of another log that was at its path', async (t) => {
  const file = await makeLog()
  const target = await makeLog(newPath('other.log'))
  fs.rmSync(target)
  const log = openLog(file)
  await log.append({ type: 't3', n: 22 })
  await log.snapshot(target)
  await log.close()
  const copy = openLog(target)
  t.deepEqual(await differences(copy, target), [])
  await copy.index.ready()
  t.deepEqual(await differences(copy, target), [])
  await copy.close()
})
