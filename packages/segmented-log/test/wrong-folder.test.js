'use strict'
// wrong-folder: the path of an open log leads to the folder of another log. Each way in which that happens meets each
// call that makes, renames or removes files. Nothing of the other log is changed, and the process is told.

const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf, newPath, temporaryFolder } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const where = { path: ['i'], equals: 0 }
const options = { codec: jsonCodec, segmentSize: 1 }
const skip = process.platform === 'win32' && 'an open folder cannot be moved there'

/** Three segments with a record each. */
async function fill (folder, more = {}) {
  const log = SegmentedLog(folder, { ...options, ...more })
  const seqs = []
  for (let i = 0; i < 3; i++) seqs.push(await log.append({ i }))
  return { log, seqs }
}

/** All bytes in a folder. */
function contents (folder) {
  return fs.readdirSync(folder).sort().map((name) => `${name} ${fs.readFileSync(path.join(folder, name)).toString('base64')}`)
}

/** Each puts the folder of another log at the path. They return where the first one is then, and the other one. */
const misfortunes = {
  'a backup was restored at its path': (at, other) => {
    fs.renameSync(at, `${at}.old`)
    fs.renameSync(other, at)
    return { own: `${at}.old`, other: at }
  },
  'a link above it was switched': (at, other) => {
    const current = path.dirname(at)
    const own = fs.realpathSync(at)
    fs.mkdirSync(`${current}.next`)
    fs.renameSync(other, path.join(`${current}.next`, path.basename(at)))
    fs.unlinkSync(current)
    fs.symlinkSync(`${current}.next`, current)
    return { own, other: at }
  },
  'it was removed, and another one made': (at, other) => {
    fs.rmSync(at, { recursive: true })
    fs.renameSync(other, at)
    return { own: null, other: at }
  },
  'a file took its place': (at, other) => {
    fs.renameSync(at, `${at}.old`)
    fs.writeFileSync(at, 'a file')
    return { own: `${at}.old`, other }
  },
  'it was moved, and nothing is there': (at, other) => {
    fs.renameSync(at, `${at}.old`)
    return { own: `${at}.old`, other }
  }
}

const actions = {
  roll: ({ log }) => log.roll(),
  append: ({ log }) => log.append({ i: 9 }),
  'drop by hand': ({ log }) => log.dropBefore(Infinity),
  'drop by limits': async ({ log }) => {
    await log.append({ i: 9 })
    await log.dropBefore(0)
  },
  keep: ({ log }) => log.dropBefore(0),
  hold: ({ log }) => log.hold('a', 1),
  'change a hold': ({ log }) => log.hold('held', 5),
  release: ({ log }) => log.release('held'),
  del: ({ log, seqs }) => log.del(seqs[0]),
  sync: ({ log }) => log.sync(),
  compress: async ({ log }) => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    await log.sync()
  },
  close: async ({ log }) => {
    await log.close()
    throw Object.assign(new Error('there was nothing to tell'), { code: 'ERR_LOG_POISONED' })
  }
}
const optionsOf = {
  'drop by limits': { maxCount: 1 },
  keep: { maxCount: 1, keep: { where } },
  compress: { compress: 'gzip' }
}

for (const [what, strike] of Object.entries(misfortunes)) {
  tape(`wrong-folder: ${what}: nothing of the other log is changed, and each call says so`, { skip }, async (t) => {
    for (const [name, act] of Object.entries(actions)) {
      const root = fs.realpathSync.native(temporaryFolder())
      fs.mkdirSync(path.join(root, 'first'))
      fs.symlinkSync('first', path.join(root, 'current'))
      const at = path.join(root, 'current', 'logs')
      const made = await fill(path.join(root, 'other'))
      await made.log.close()
      const own = await fill(at, name === 'compress' ? {} : optionsOf[name])
      await own.log.hold('held', own.seqs[1])
      await own.log.sync()
      if (name === 'compress') {
        await own.log.close()
        Object.assign(own, { log: SegmentedLog(at, { ...options, ...optionsOf[name] }) })
        await own.log.ready()
      }
      if (name === 'drop by limits' || name === 'keep') await own.log.release('held')
      const after = strike(at, path.join(root, 'other'))
      const before = contents(after.other)
      const err = await failureOf(() => act(own))
      t.equal(err?.code, 'ERR_LOG_POISONED', `${name}: ${err?.message}`)
      if (name !== 'close') {
        t.equal(err?.cause?.code ?? err?.cause?.cause?.code, 'ERR_FILE_MOVED')
        t.equal((await failureOf(() => own.log.append({ i: 10 })))?.code, 'ERR_LOG_POISONED', 'and takes nothing more')
      }
      await own.log.close().catch(() => {})
      t.deepEqual(contents(after.other), before, `${name}: the other log is as it was`)
      if (after.own !== null) {
        const log = SegmentedLog(after.own, options)
        t.equal((await log.last()).value.i >= 2, true, 'its own records are where they were')
        await log.close()
      }
      const again = SegmentedLog(after.other, options)
      t.equal(await again.count(), 3, 'the other one can be opened')
      await again.close()
    }
  })
}

const readsOf = process.platform !== 'linux' && 'names are reached through an open folder on Linux'
for (const [what, strike] of Object.entries(misfortunes)) {
  // Its bytes are gone, but those of the newest segment.
  if (what.startsWith('it was removed')) continue
  tape(`wrong-folder: ${what}: a reader goes on with its own records, and a live stream is told`, { skip: readsOf }, async (t) => {
    const root = fs.realpathSync.native(temporaryFolder())
    fs.mkdirSync(path.join(root, 'first'))
    fs.symlinkSync('first', path.join(root, 'current'))
    const at = path.join(root, 'current', 'logs')
    for (const [folder, from] of [[at, 0], [path.join(root, 'other'), 100]]) {
      const log = SegmentedLog(folder, options)
      for (let i = from; i < from + 3; i++) await log.append({ i })
      await log.close()
    }
    const reader = SegmentedLog(at, { ...options, flags: 'r', openSegments: 1 })
    const numbers = async (more) => {
      return (await collect(reader.stream({ seqs: false, ...more }))).map(({ i }) => i)
    }
    t.deepEqual(await numbers(), [0, 1, 2])
    const waiting = failureOf(() => numbers({ live: true }))
    strike(at, path.join(root, 'other'))
    t.equal((await waiting)?.code, 'ERR_FILE_MOVED', 'who waits')
    t.equal((await failureOf(() => numbers({ live: true })))?.code, 'ERR_FILE_MOVED', 'who comes later')
    t.deepEqual(await numbers(), [0, 1, 2])
    t.deepEqual(await numbers({ reverse: true }), [2, 1, 0])
    t.equal((await reader.segments()).length, 3)
    await reader.close()
  })
}

tape('wrong-folder: a segment of another log is never removed, but named', async (t) => {
  const root = temporaryFolder()
  const other = await fill(path.join(root, 'other'))
  await other.log.close()
  const own = await fill(path.join(root, 'own'))
  const [{ path: first }, { path: second }] = await own.log.segments()
  const foreign = path.join(root, 'other', fs.readdirSync(path.join(root, 'other'))[0])
  fs.copyFileSync(foreign, second)
  const bytes = fs.readFileSync(second)
  const err = await failureOf(() => own.log.dropBefore(Infinity))
  t.equal(err?.code, 'ERR_LOG_FOREIGN_SEGMENT')
  t.equal(err?.path, second)
  t.ok(err?.message.includes(second), err?.message)
  t.ok(fs.readFileSync(second).equals(bytes), 'it is as it was')
  t.notOk(fs.existsSync(first), 'its own segments are dropped')
  await own.log.append({ i: 4 })
  await own.log.close()
})

tape('wrong-folder: a segment of another log is not removed while it cannot be opened to see whose it is', async (t) => {
  const root = temporaryFolder()
  const other = await fill(path.join(root, 'other'))
  await other.log.close()
  const own = await fill(path.join(root, 'own'))
  const [, { path: second }] = await own.log.segments()
  await own.log.close()
  fs.copyFileSync(path.join(root, 'other', fs.readdirSync(path.join(root, 'other'))[0]), second)
  let isFailing = false
  const storage = { ...fileStorage }
  storage.open = (file, options, cb) => {
    if (isFailing && file.endsWith(path.basename(second))) cb(Object.assign(new Error('EMFILE: simulated'), { code: 'EMFILE' }))
    else fileStorage.open(file, options, cb)
  }
  const log = SegmentedLog(path.join(root, 'own'), { ...options, storage })
  await log.ready()
  isFailing = true
  t.equal((await failureOf(() => log.dropBefore(Infinity)))?.code, 'EMFILE')
  t.ok(fs.existsSync(second))
  isFailing = false
  t.equal((await failureOf(() => log.dropBefore(Infinity)))?.code, 'ERR_LOG_FOREIGN_SEGMENT')
  t.ok(fs.existsSync(second))
  await log.close()
})

for (const isSync of [false, true]) {
  const call = isSync ? 'appendSync' : 'append'
  tape(`wrong-folder: the lock's files are removed, and another writer comes: the first overwrote its records, ${call}`, { skip }, async (t) => {
    const folder = newPath('log')
    const open = () => SegmentedLog(folder, { codec: jsonCodec })
    const log = open()
    await log.append({ n: 0 })
    await log.sync()
    for (const name of ['writer', 'writer.lock']) fs.rmSync(path.join(folder, name))
    await log.append({ n: 1 })
    await log.sync()
    t.pass('nobody has come yet')
    const other = open()
    await other.append({ n: 2 })
    await other.sync()
    // It is looked at once a second, and at syncs.
    await sleep(1100)
    const err = await failureOf(() => isSync ? log.appendSync({ n: 3 }) : log.append({ n: 3 }))
    t.equal(err?.code, 'ERR_LOG_POISONED')
    t.equal(err?.cause?.code, 'ERR_FILE_MOVED')
    t.match(err?.message ?? '', /another file than the one that was locked/)
    await failureOf(() => log.close())
    await other.append({ n: 4 })
    await other.close()
    const again = open()
    t.deepEqual(await collect(again.stream({ seqs: false })), [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 4 }])
    await again.close()
  })
}
