'use strict'
// The torture on real disks: a few states where that can be done, and a clear end where it cannot.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const tape = require('tape')
const { runDisk, whyNot } = require('../torture/disk')
const { DiskRecord, ENTRY_SIZE, KINDS, encodeEntry } = require('../torture/disk/record')

const SCRIPT = path.join(__dirname, '..', 'torture', 'index.js')
const run = (...args) => spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' })

tape('torture --disk: a few states of a real ext4 lose nothing, or the command says why it cannot', async (t) => {
  const obstacle = whyNot()
  if (obstacle) {
    const { status, stderr } = run('--disk')
    t.equal(status, 3)
    t.ok(stderr.includes(obstacle), stderr)
    return
  }
  const seed = Date.now() % 2 ** 31
  const { failures, figures } = await runDisk({ states: 12, workers: 1, seed, print: () => {} })
  t.deepEqual(failures, [], `seed ${seed}`)
  t.ok(figures.states >= 12, `${figures.states} states`)
})

tape('torture --disk: options that do not fit are refused', (t) => {
  for (const args of [['--states', '5'], ['--disk', '--kill', '5'], ['--disk', '--only', 'x'], ['--record', 'x']]) {
    t.equal(run(...args).status, 2, args.join(' '))
  }
  t.end()
})

tape('torture --disk: an image has all that was flushed, and blocks or sectors of what came since', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-record-'))
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }))
  const base = path.join(folder, 'base')
  const record = path.join(folder, 'record')
  fs.writeFileSync(base, Buffer.alloc(64 * 1024))
  const entries = [
    [KINDS.WRITE, 8192, 4096, 1], [KINDS.FLUSH, 0, 0, 0], [KINDS.FAILED, 0, 0, 0], [KINDS.WRITE, 4096, 12_288, 2]
  ]
  fs.writeFileSync(record, Buffer.concat(entries.map(([kind, offset, size, fill], at) => {
    const entry = Buffer.alloc(ENTRY_SIZE + size, fill)
    encodeEntry(entry, { kind, at, offset, size })
    return entry
  })))
  const disk = new DiskRecord(base, record)
  t.equal(disk.entries.length, 4)
  t.equal(disk.timeOf(1), 0)
  const seen = new Set()
  for (let seed = 1; seed <= 200; seed++) {
    let state = seed
    const random = (limit) => (state = Math.imul(state, 1103515245) + 12345 >>> 0) % 65_537 % limit
    const image = disk.makeImage(4, random)
    const sectors = Array.from({ length: 128 }, (_, index) => image[index * 512])
    // The block that was flushed has it, or what was written over it; nothing else has changed.
    if (sectors.some((value, index) => value !== 2 && value !== (index >= 16 && index < 24 ? 1 : 0))) t.fail(`${sectors}`)
    seen.add(sectors.join(''))
    if (!disk.makeImage(2, random).subarray(8192, 12_288).equals(Buffer.alloc(4096, 1))) t.fail('what was flushed is not there')
  }
  t.ok(seen.size > 20, `${seen.size} different images`)
  t.end()
})
