'use strict'
// A piece of network that can be cut: connections to a port, through a proxy.

const net = require('node:net')

class Proxy {
  /** @type {Set<net.Socket>} */
  #sockets = new Set()
  #isCut = false
  #server

  /** @param {number} target */
  constructor (target) {
    this.#server = net.createServer((near) => {
      if (this.#isCut) return near.destroy()
      const far = net.connect(target, '127.0.0.1')
      for (const [socket, other] of [[near, far], [far, near]]) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => {
          this.#sockets.delete(socket)
          other.destroy()
        })
        socket.pipe(other)
      }
    })
  }

  /** @returns {Promise<number>}  the port to connect to */
  listen () {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', () => resolve(/** @type {net.AddressInfo} */ (this.#server.address()).port))
    })
  }

  cut () {
    this.#isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  mend () {
    this.#isCut = false
  }

  close () {
    this.cut()
    this.#server.close()
  }
}

exports.Proxy = Proxy
