'use strict'
// API keys. The file holds only their SHA-256: whoever reads it cannot write to a log. It is replaced as a whole, and
// a running server reads it again within a second.

const crypto = require('node:crypto')
const fs = require('node:fs/promises')
const path = require('node:path')
const { LogError, misuse } = require('@millrace/errors')

const SECRET_SIZE = 32
const PREFIX = 'mr_'
const POLL_MS = 500
const SCOPE = /^(read|write):([a-z0-9][a-z0-9_-]{0,63}|[a-z0-9_-]{0,63}\*)$/

/**
 * @typedef {object} Key
 * @property {string} id  to name it in lists and when it is revoked
 * @property {string} hash  SHA-256 of the secret, in hex
 * @property {string[]} scopes  such as `write:orders`, `read:*`, `write:app-*`
 * @property {string} created  an ISO date
 * @property {string} [note]
 * @property {string} [otlpLog]  the log that OTLP records go to; `otlp` by default
 */

/** Keys of a file, as a server needs them. */
class Keys {
  #file
  /** By hash; null if there is no file, so that no key is needed. @type {Map<string, Key> | null} */
  #byHash = null
  #state = ''
  /** @type {NodeJS.Timeout | null} */
  #timer = null
  #isReadable = true
  /** @type {(err: Error) => void} */
  #report

  /** @param {string} file  @param {(err: Error) => void} [report] */
  constructor (file, report = () => {}) {
    this.#file = file
    this.#report = report
  }

  /** Reads the file, and again whenever it changes. */
  async start () {
    await this.#read()
    const look = async () => {
      try {
        if (await this.#look() !== this.#state) await this.#read()
      } catch (/** @type {any} */ err) {
        this.#report(err)
      }
      if (this.#timer !== null) this.#timer = setTimeout(look, POLL_MS).unref()
    }
    this.#timer = setTimeout(look, POLL_MS).unref()
  }

  stop () {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  /** Whether requests need a key. Once they did, they always do: a file that is gone lets nobody in. */
  get areNeeded () {
    return this.#byHash !== null
  }

  /** False: the file cannot be read or is no file of keys. Then no key is valid. */
  get isReadable () {
    return this.#isReadable
  }

  /** @param {string | undefined} authorization  the header @returns {Key | null} */
  find (authorization) {
    const [, secret] = /^Bearer ([\w-]+)$/i.exec(authorization ?? '') ?? []
    return secret === undefined ? null : this.#byHash?.get(hashOf(secret)) ?? null
  }

  async #look () {
    try {
      const { ino, mtimeMs, ctimeMs, size } = await fs.stat(this.#file)
      return [ino, mtimeMs, ctimeMs, size].join()
    } catch (/** @type {any} */ err) {
      if (err.code === 'ENOENT') return ''
      throw err
    }
  }

  async #read () {
    const state = await this.#look()
    try {
      const keys = await readKeys(this.#file)
      if (keys !== null) this.#byHash = new Map(keys.map((key) => [key.hash, key]))
      else this.#byHash?.clear()
      this.#isReadable = true
    } catch (err) {
      this.#byHash = new Map()
      this.#isReadable = false
      throw err
    } finally {
      this.#state = state
    }
  }
}

/**
 * @param {Key} key
 * @param {'read' | 'write'} action
 * @param {string} log  `*`: all logs
 */
function allows ({ scopes }, action, log) {
  return scopes.some((scope) => {
    const [what, name] = scope.split(':')
    return what === action && (name === log || (name.endsWith('*') && log.startsWith(name.slice(0, -1))))
  })
}

/**
 * Adds a key to the file. The secret is nowhere else.
 * @param {string} file
 * @param {Pick<Key, 'scopes' | 'note' | 'otlpLog'>} options
 * @returns {Promise<{ secret: string, key: Key }>}
 */
async function createKey (file, { scopes, note, otlpLog }) {
  if (scopes.length === 0) throw misuse('createKey: a key needs a scope, such as write:orders or read:*')
  for (const scope of scopes) {
    if (SCOPE.test(scope)) continue
    throw misuse(`createKey: ${JSON.stringify(scope)} is no scope; expected read: or write: and the name of a log, ` +
      'or the beginning of names and *')
  }
  const secret = PREFIX + crypto.randomBytes(SECRET_SIZE).toString('base64url')
  const id = crypto.randomBytes(4).toString('hex')
  /** @type {Key} */
  const key = { id, hash: hashOf(secret), scopes, created: new Date().toISOString() }
  if (note) key.note = note
  if (otlpLog !== undefined) {
    if (!SCOPE.test(`write:${otlpLog}`) || !allows(key, 'write', otlpLog)) {
      throw misuse(`createKey: a key whose OTLP records go to ${JSON.stringify(otlpLog)} needs the scope write:${otlpLog}`)
    }
    key.otlpLog = otlpLog
  }
  await changeKeys(file, (keys) => [...keys, key])
  return { secret, key }
}

/** @type {(file: string, id: string) => Promise<void>} */
async function revokeKey (file, id) {
  await changeKeys(file, (keys) => {
    const left = keys.filter((key) => key.id !== id)
    if (left.length === keys.length) throw misuse(`revokeKey: there is no key ${JSON.stringify(id)}`)
    return left
  })
}

/** @type {(file: string) => Promise<Key[]>} */
async function listKeys (file) {
  return await readKeys(file) ?? []
}

/** @type {(file: string) => Promise<Key[] | null>} null if there is no file */
async function readKeys (file) {
  let text
  try {
    text = await fs.readFile(file, 'utf8')
  } catch (/** @type {any} */ err) {
    if (err.code === 'ENOENT') return null
    throw err
  }
  try {
    const { keys } = JSON.parse(text)
    if (keys.every(isKey)) return keys
  } catch {
    // It has another form.
  }
  throw new LogError('ERR_INVALID_ARGUMENT', `${file} is no file of keys; restore it, or make new keys`, { path: file })
}

/** @param {any} key */
function isKey ({ id, hash, scopes }) {
  return typeof id === 'string' && typeof hash === 'string' && Array.isArray(scopes)
}

/** @type {(file: string, change: (keys: Key[]) => Key[]) => Promise<void>} */
async function changeKeys (file, change) {
  const folder = path.dirname(file)
  await fs.mkdir(folder, { recursive: true })
  // While it exists, nobody else changes the keys.
  const next = `${file}.new`
  const handle = await fs.open(next, 'wx', 0o600).catch((err) => {
    if (err.code !== 'EEXIST') throw err
    throw new LogError('EEXIST', `${next} exists: the keys are being changed. If they are not, remove it`)
  })
  try {
    await handle.writeFile(`${JSON.stringify({ keys: change(await listKeys(file)) }, null, 2)}\n`)
    await handle.sync()
    await handle.close()
    await fs.rename(next, file)
  } catch (err) {
    await handle.close().catch(() => {})
    await fs.unlink(next).catch(() => {})
    throw err
  }
  const opened = await fs.open(folder, 'r').catch(() => null)
  await opened?.sync().catch(() => {})
  await opened?.close()
}

/** @param {string} secret */
function hashOf (secret) {
  return crypto.createHash('sha256').update(secret).digest('hex')
}

exports.Keys = Keys
exports.allows = allows
exports.createKey = createKey
exports.revokeKey = revokeKey
exports.listKeys = listKeys
