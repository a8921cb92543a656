'use strict'
// Every call to the storage of a segmented log fails in turn, in every way that file systems have. A quick run tries
// some of them.

const tape = require('tape')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, collect, failureOf, isLongRun } = require('@millrace/testkit')
const { SegmentedLog } = require('..')
const { failEach } = require('../../offset-log/test/failing-work')

const FOLDER = '/folder/logs'
const OPTIONS = { cache: 0, segmentSize: 10_000 }
const value = (name) => Buffer.from(name.repeat(6000))
const namesOf = async (log) => (await collect(log.stream())).map(({ value }) => value.toString('latin1', 0, 1))

for (const framing of ['checked', 'lines']) {
  for (const fsync of ['always', 'interval', 'never']) {
    for (const maxSize of [Infinity, 1e9]) {
      tape(`segmented storage: ${framing}, fsync ${fsync}, maxSize ${maxSize}: whatever fails, the log goes on or says why not`, async (t) => {
        const openLog = (storage) => SegmentedLog(FOLDER, { storage, framing, fsync, maxSize, ...OPTIONS })
        const step = isLongRun ? 1 : 25
        const runs = await failEach({ openLog, fsync, isAtomic: true, step, report: (problem) => t.fail(problem) })
        t.ok(runs > 1000 / step, `${runs} runs`)
      })
    }
  }
}

for (const code of ['EIO', 'EROFS']) {
  tape(`segmented storage: a segment whose reserved end cannot be cut (${code}) when it is sealed costs no other segment`, async (t) => {
    let isFailing = false
    // What becomes the next segment is cut, too, under another name.
    const decide = ({ name, path }) => isFailing && name === 'truncate' && !path.endsWith('.new') ? { code } : {}
    const disk = new SimulatedDisk({ decide })
    const log = SegmentedLog(FOLDER, { storage: disk.storage, fsync: 'always', maxSize: 1e9, ...OPTIONS })
    await log.append(value('a'))
    await log.append(value('b'))
    await log.append(value('c'))
    for (const name of 'defgh') {
      isFailing = name === 'e'
      try {
        log.appendSync(value(name))
      } catch (err) {
        t.equal(err.code, code)
      }
    }
    isFailing = false
    await log.append(value('i'))
    t.deepEqual((await namesOf(log)).slice(0, 3), ['a', 'b', 'c'])
    await log.close()
    const again = SegmentedLog(FOLDER, { storage: disk.storage, ...OPTIONS })
    t.deepEqual((await namesOf(again)).slice(0, 3), ['a', 'b', 'c'], 'nothing was dropped')
    await again.close()
  })
}

tape('segmented storage: a next segment that can be neither opened nor removed leaves no second one of the same base', async (t) => {
  for (const framing of ['checked', 'lines']) {
    let isFailing = false
    const decide = ({ name, path }) => {
      const isHit = isFailing && ['open', 'unlink'].includes(name) && !path.endsWith('.new')
      return isHit && disk.list().includes(path) ? { code: 'EIO' } : {}
    }
    const disk = new SimulatedDisk({ decide })
    const log = SegmentedLog(FOLDER, { storage: disk.storage, framing, ...OPTIONS })
    await log.append(value('a'))
    isFailing = true
    await failureOf(() => log.roll())
    isFailing = false
    // Of another time.
    await new Promise((resolve) => setTimeout(resolve, 10))
    await log.roll()
    for (const name of 'bcd') await log.append(value(name))
    await log.close()
    const again = SegmentedLog(FOLDER, { storage: disk.storage, framing, ...OPTIONS })
    const bases = (await again.segments()).map(({ path }) => path.slice(0, FOLDER.length + 17))
    t.equal(new Set(bases).size, bases.length)
    t.deepEqual(await namesOf(again), [...'abcd'])
    await again.close()
  }
})

tape('segmented storage: where all takes waiting, a next segment that got its name and could not be used leaves no second one of the same base', async (t) => {
  for (const framing of ['checked', 'lines']) {
    for (const unlinks of [true, false]) {
      let isFailing = false
      const isNamed = (path) => !path.endsWith('.new') && disk.list().includes(path)
      const decide = ({ name, path }) => {
        const isHit = name === 'open' || (name === 'unlink' && !unlinks)
        return isFailing && isHit && isNamed(path) ? { code: 'EIO' } : {}
      }
      const disk = new SimulatedDisk({ decide })
      const { openSync, renameSync, unlinkSync, syncFolderSync, ...storage } = disk.storage
      const log = SegmentedLog(FOLDER, { storage, framing, ...OPTIONS })
      await log.append(value('a'))
      isFailing = true
      t.equal((await failureOf(() => log.roll()))?.code, 'EIO')
      isFailing = false
      // Of another time.
      await new Promise((resolve) => setTimeout(resolve, 10))
      await log.roll()
      for (const name of 'bcd') await log.append(value(name))
      await log.close()
      const again = SegmentedLog(FOLDER, { storage, framing, ...OPTIONS })
      t.deepEqual(await namesOf(again), [...'abcd'], `${framing}, it can be removed: ${unlinks}`)
      await again.close()
    }
  }
})

tape('segmented storage: a segment whose size cannot be read is not left open', async (t) => {
  let isFailing = false
  let open = 0
  const disk = new SimulatedDisk({ decide: ({ name }) => isFailing && name === 'size' ? { code: 'EIO' } : {} })
  const storage = {
    ...disk.storage,
    open: (file, options, cb) => disk.storage.open(file, options, (err, handle) => {
      if (err) return cb(err)
      open++
      const { close } = handle
      cb(null, { ...handle, close: (done) => { open--; close(done) } })
    })
  }
  const log = SegmentedLog(FOLDER, { storage, ...OPTIONS })
  await log.append(value('a'))
  await log.close()
  t.equal(open, 0)
  isFailing = true
  const failed = SegmentedLog(FOLDER, { storage, ...OPTIONS })
  t.equal((await failureOf(() => failed.ready()))?.code, 'EIO')
  await failed.close()
  t.equal(open, 0)
})

for (const fsync of ['always', 'interval', 'never']) {
  tape(`segmented storage: lines, fsync ${fsync}: after two failed writes of a .sums, reads by the index answer, and the log appends`, async (t) => {
    const tuning = { recordsMax: 30, fanOut: 3, waitMs: 1, sieveRunsMin: 2 }
    const open = (storage) => {
      const index = createIndex(['k'], { tuning })
      return SegmentedLog(FOLDER, { storage, framing: 'lines', codec: jsonCodec, fsync, index, ...OPTIONS })
    }
    for (let at = 0, isOver = false; !isOver; at++) {
      let [calls, isMended] = [0, false]
      const decide = ({ name, path }) => {
        if (isMended || name !== 'write' || !path.endsWith('.sums')) return {}
        const index = calls++
        return index >= at && index < at + 2 ? { code: 'ENOSPC' } : {}
      }
      const disk = new SimulatedDisk({ decide })
      const log = open(disk.storage)
      const expected = []
      const wrong = []
      const append = async (from, count) => {
        const values = Array.from({ length: count }, (_, i) => ({ k: (from + i) % 5, n: from + i, text: 'x'.repeat(80) }))
        const err = await failureOf(() => log.append(values))
        if (err === null) expected.push(...values.filter(({ k }) => k === 1).map(({ n }) => n))
        else if (err.code !== 'ENOSPC') wrong.push(err.stack)
      }
      const read = async (from) => {
        const found = await collect(from.stream({ where: { path: 'k', equals: 1 }, seqs: false }))
        if (found.map(({ n }) => n).join() !== expected.join()) wrong.push(`found ${found.length} of ${expected.length}`)
      }
      for (let round = 0; round < 8; round++) {
        await append(round * 100, round % 2 === 0 ? 25 : 1)
        await read(log)
      }
      isMended = true
      const before = expected.length
      await append(1000, 10)
      if (expected.length === before) wrong.push('it does not append')
      await read(log)
      await log.close()
      const again = open(disk.storage)
      await read(again)
      await again.close()
      if (wrong.length > 0) t.fail(`write ${at}: ${wrong[0]}`)
      isOver = calls <= at
    }
    t.pass('at each write of the sums')
  })
}

tape('segmented storage: a log of lines that could not list its folder nor make the next segment appends again a second later', async (t) => {
  let isFailing = true
  let listingCount = 0
  const decide = ({ name, path }) => {
    const isHit = name === 'listFolder' ? listingCount++ > 0 : path.endsWith('.jsonl.new') && path.includes('/0000000000000001-')
    return isFailing && isHit ? { code: 'EMFILE' } : {}
  }
  const log = SegmentedLog(FOLDER, { storage: new SimulatedDisk({ decide }).storage, framing: 'lines', maxSize: 1e9, ...OPTIONS })
  await log.append(Buffer.from('a'))
  t.equal((await failureOf(() => log.roll()))?.code, 'EMFILE')
  t.equal((await failureOf(() => log.append(Buffer.from('b'))))?.code, 'ERR_LOG_NOT_READY', 'nobody knows what the folder has')
  isFailing = false
  await new Promise((resolve) => setTimeout(resolve, 1100))
  await log.append(Buffer.from('c'))
  t.deepEqual(await namesOf(log), ['a', 'c'])
  await log.close()
})
