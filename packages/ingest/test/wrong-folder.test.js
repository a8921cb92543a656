'use strict'
// wrong-folder: the path of a server's folder leads to the folder of another server. Keys, names and counts stay those
// of its own folder, and nothing is made in the other one.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { temporaryFolder, until } = require('@millrace/testkit')
const { createKey } = require('..')
const { serve } = require('./helpers')

const skip = process.platform !== 'linux' && 'names are reached through an open folder on Linux'
const LARGE = 100_000
const bearer = (secret) => ({ authorization: `Bearer ${secret}` })

/** Each puts another folder at the path, or nothing. They return where the other folder is then. */
const misfortunes = {
  'a backup was restored at its path': (at, other) => {
    fs.renameSync(at, `${at}.old`)
    fs.renameSync(other, at)
    return at
  },
  'a link above it was switched': (at, other) => {
    const current = path.dirname(at)
    fs.mkdirSync(`${current}.next`)
    fs.renameSync(other, path.join(`${current}.next`, path.basename(at)))
    fs.unlinkSync(current)
    fs.symlinkSync(`${current}.next`, current)
    return at
  },
  'it was moved, and nothing is there': (at, other) => {
    fs.renameSync(at, `${at}.old`)
    return other
  }
}

/** All bytes in a folder. */
function contents (folder) {
  const names = fs.readdirSync(folder, { recursive: true }).sort()
  return names.map((name) => {
    const file = path.join(folder, name)
    return fs.statSync(file).isFile() ? `${name} ${fs.readFileSync(file).toString('base64')}` : name
  })
}

/** The folder of a server that was closed: with a log, a counted event and a key. */
async function prepare (t, folder, log) {
  const { secret } = await createKey(path.join(folder, 'keys.json'), { scopes: ['read:*', 'write:*'] })
  const { post, server } = await serve(t, { folder })
  t.equal((await post(`/v1/logs/${log}`, '1', bearer(secret))).status, 200)
  t.equal((await post('/v1/se/door/open', '', bearer(secret))).status, 200)
  await server.close()
  return secret
}

async function prepareBoth (t) {
  const root = fs.realpathSync.native(temporaryFolder())
  fs.mkdirSync(path.join(root, 'first'))
  fs.symlinkSync('first', path.join(root, 'current'))
  const [at, other] = [path.join(root, 'current', 'data'), path.join(root, 'other')]
  const [own, foreign] = [await prepare(t, at, 'ours'), await prepare(t, other, 'theirs')]
  return { at, other, own, foreign }
}

/** Whether the server says that its log has the large record, and how much is free. */
async function measure (ask, secret) {
  const { text } = await ask('/metrics', { headers: bearer(secret) })
  const [, size = 0] = /^millrace_log_size_bytes\{log="ours"\} (\d+)$/m.exec(text) ?? []
  return { isLarge: size > LARGE, isFree: /^millrace_free_bytes [1-9]/m.test(text) }
}

for (const [what, strike] of Object.entries(misfortunes)) {
  tape(`wrong-folder: ${what}: keys and counts are those of the own folder, and /readyz says so`, { skip }, async (t) => {
    const { at, other, own, foreign } = await prepareBoth(t)
    const { ask, post, server } = await serve(t, { folder: at })
    // Counts that are not saved yet.
    t.equal((await post('/v1/se/door/closed', '', bearer(own))).status, 200)
    t.equal((await post('/v1/logs/ours', JSON.stringify('x'.repeat(LARGE)), bearer(own))).status, 200)
    t.deepEqual(await measure(ask, own), { isLarge: true, isFree: true })
    const found = strike(at, other)
    const before = contents(found)
    await until(async () => (await ask('/readyz')).status === 503)
    t.match((await ask('/readyz')).text, /moved, removed or replaced/)
    t.deepEqual(await measure(ask, own), { isLarge: true, isFree: true }, 'the gauges are those of the own folder')
    // The file of the keys is looked at every half second.
    await new Promise((resolve) => setTimeout(resolve, 1200))
    t.equal((await ask('/v1/logs', { headers: bearer(foreign) })).status, 401, 'the keys of the other folder let nobody in')
    const { status, body } = await ask('/v1/logs', { headers: bearer(own) })
    t.deepEqual([status, body.logs], [200, ['ours', 'se']], 'its own keys go on')
    t.ok((await post('/v1/logs/ours', '2', bearer(own))).status >= 500, 'nothing is acknowledged')
    t.ok((await post('/v1/logs/young', '2', bearer(own))).status >= 500, 'no log is made')
    await server.close()
    t.deepEqual(contents(found), before, 'the other folder is as it was')
  })

  tape(`wrong-folder: ${what} while the server opens it: the names are those of the own folder`, { skip }, async (t) => {
    const { at, other, own } = await prepareBoth(t)
    let found = null
    const openFolder = (folder, cb) => fileStorage.openFolder(folder, (err, handle) => {
      found ??= strike(at, other)
      cb(err, handle)
    })
    const { ask, server } = await serve(t, { folder: at, log: { storage: { ...fileStorage, openFolder } } })
    const before = contents(found)
    t.deepEqual((await ask('/v1/logs', { headers: bearer(own) })).body.logs, ['ours', 'se'])
    await server.close()
    t.deepEqual(contents(found), before, 'the other folder is as it was')
  })
}
