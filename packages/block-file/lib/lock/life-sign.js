'use strict'
// A Unix socket beside a log shows that the holder of its lock lives, to those who cannot see its process: the kernel
// refuses connections once nobody listens any more. For where there is no lock of the kernel.

const fs = require('node:fs')
const net = require('node:net')
const path = require('node:path')
const { promisify } = require('node:util')

const open = promisify(fs.open)
const close = promisify(fs.close)
const unlink = promisify(fs.unlink)

// The name of a log may be too long for the address of a socket, so it is no part of it.
const NAME = /^\.millrace-[0-9a-f]{16}\.sock$/

/**
 * @typedef {object} LifeSign
 * @property {string} name  of the socket, in the log's folder
 * @property {() => Promise<void>} end
 * @property {() => void} endSync  as the process ends
 */

/**
 * @param {string} filePath  of the log
 * @param {string} nonce  16 hex digits
 * @returns {Promise<LifeSign | null>}  null where there can be none
 */
async function giveLifeSign (filePath, nonce) {
  if (process.platform !== 'linux') return null
  const name = `.millrace-${nonce}.sock`
  try {
    const server = await inFolderOf(filePath, (folder) => listen(addressOf(folder, name)))
    return {
      name,
      end: async () => {
        await new Promise((resolve) => server.close(resolve))
        await removeLifeSign(filePath, name)
      },
      endSync: () => fs.unlinkSync(path.join(path.dirname(filePath), name))
    }
  } catch {
    return null
  }
}

/**
 * The descriptor is closed again, for what is left of a server would be removed through it when the process ends by
 * itself: but a socket that is gone proves nothing, one that refuses does.
 * @template T
 * @param {string} filePath
 * @param {(folder: number) => Promise<T>} run
 * @returns {Promise<T>}
 */
async function inFolderOf (filePath, run) {
  const folder = await open(path.dirname(filePath), fs.constants.O_RDONLY)
  try {
    return await run(folder)
  } finally {
    await close(folder)
  }
}

/**
 * Node.js cuts off an address of more than 107 bytes and says nothing, so it must not begin with the folder's path.
 * @param {number} folder  descriptor
 * @param {string} name
 */
function addressOf (folder, name) {
  return `/proc/self/fd/${folder}/${name}`
}

/**
 * @param {string} address
 * @returns {Promise<net.Server>}
 */
function listen (address) {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => socket.destroy())
    server.once('error', reject)
    // Workers of a cluster would share one that is not exclusive, and the primary would go on listening.
    server.listen({ path: address, exclusive: true }, () => {
      server.unref()
      resolve(server)
    })
  })
}

/**
 * @param {string} filePath  of the log
 * @param {string | null | undefined} name  that its record gives
 * @returns {Promise<'alive' | 'dead' | 'unknown'>}  of a holder under the running kernel
 */
async function askForLifeSign (filePath, name) {
  if (process.platform !== 'linux' || typeof name !== 'string' || !NAME.test(name)) return 'unknown'
  return inFolderOf(filePath, (folder) => connect(addressOf(folder, name))).catch(() => 'unknown')
}

/**
 * @param {string} address
 * @returns {Promise<'alive' | 'dead' | 'unknown'>}
 */
function connect (address) {
  return new Promise((resolve) => {
    const socket = net.connect({ path: address })
    socket.once('connect', () => {
      socket.destroy()
      resolve('alive')
    })
    // EAGAIN: too many ask at once. EACCES: not our user's. ENOENT: it was removed, by whomever.
    socket.once('error', (/** @type {NodeJS.ErrnoException} */ { code }) => {
      resolve(code === 'ECONNREFUSED' ? 'dead' : 'unknown')
    })
  })
}

/**
 * Removes what a dead holder has left.
 * @param {string} filePath  of the log
 * @param {string | null | undefined} name
 */
async function removeLifeSign (filePath, name) {
  if (typeof name !== 'string' || !NAME.test(name)) return
  await unlink(path.join(path.dirname(filePath), name)).catch(() => {})
}

exports.askForLifeSign = askForLifeSign
exports.giveLifeSign = giveLifeSign
exports.removeLifeSign = removeLifeSign
