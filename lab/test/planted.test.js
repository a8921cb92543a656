'use strict'
// The bugs that the torture plants can still be planted: whoever changes the source changes them too.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const tape = require('tape')
const { copySource } = require('../torture/copy-source')
const { checkPatches, loadBugs, runPlanted } = require('../torture/planted')

tape('planted: every patch applies to the source, in one place', (t) => {
  const bugs = loadBugs()
  t.ok(bugs.length >= 30, `${bugs.length} bugs`)
  t.deepEqual(checkPatches(bugs), [])
  for (const { name, why, oracle } of bugs) t.ok(why && oracle, name)
  t.end()
})

tape('planted: an open that is never answered does not hang its oracle', async (t) => {
  const silent = {
    file: 'packages/block-file/lib/open.js',
    find: 'promisesOf(handle).size() }\n  } catch (err) {\n    await promisesOf(handle).close().catch(() => {})\n    throw err',
    replace: 'promisesOf(handle).size() }\n  } catch (err) {\n    return new Promise(() => {})'
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-planted-'))
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }))
  const logModule = copySource(path.join(folder, 'patched'), [silent])
  const { failures } = await require('../torture/oracles/calls').examine({ logModule, seed: 1 })
  t.deepEqual(failures.map(({ kind }) => kind), ['no answer'])
})

// All oracles take a quarter of an hour. This one takes seconds, and had been blind: the source had changed around it.
tape('planted: the bugs of an index are found', async (t) => {
  const { failures, figures } = await runPlanted({ oracle: 'index-answers', print: () => {} })
  t.deepEqual(failures, [])
  t.equal(figures.caught, 7)
})
