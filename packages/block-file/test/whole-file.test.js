'use strict'
// Files that are replaced as a whole: after a power cut at any step there is the old one or the new one.

const tape = require('tape')
const { SimulatedDisk, createRandom } = require('@millrace/testkit')
const { readFile, replaceFile } = require('..')

const FILE = '/folder/state'
const seed = Date.now() % 2 ** 31

tape(`replaceFile: a power cut leaves the old file or the new one (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const [before, after] = [Buffer.alloc(3000, 'a'), Buffer.alloc(2000, 'b')]
  const crashes = []
  const disk = new SimulatedDisk({ onChange: () => { for (let i = 0; i < 10; i++) crashes.push(disk.crash(random)) } })
  t.equal(await readFile(disk.storage, FILE), null)
  await replaceFile(disk.storage, FILE, before)
  crashes.length = 0
  await replaceFile(disk.storage, FILE, after)
  const counts = { old: 0, new: 0 }
  for (const crashed of crashes) {
    const bytes = await readFile(crashed.storage, FILE)
    if (bytes?.equals(before)) counts.old++
    else if (bytes?.equals(after)) counts.new++
    else t.fail(`${bytes?.length} other bytes`)
    // What is left of the one that was not finished does no harm.
    await replaceFile(crashed.storage, FILE, Buffer.from('c'))
    if (String(await readFile(crashed.storage, FILE)) !== 'c') t.fail('it cannot be replaced again')
  }
  t.ok(counts.old > 0, `${counts.old} old, ${counts.new} new`)
  t.ok((await readFile(disk.crash(() => 0).storage, FILE)).equals(after), 'and the new one once it has ended')
})
