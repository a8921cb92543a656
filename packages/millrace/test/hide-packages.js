'use strict'
// Loaded before a program: the packages that the variable HIDDEN names are as if they were not installed.

const Module = require('node:module')

const hidden = (process.env.HIDDEN ?? '').split(',')
const resolve = Module._resolveFilename

Module._resolveFilename = function (request, ...others) {
  if (hidden.some((name) => request === name || request.startsWith(`${name}/`))) {
    throw Object.assign(new Error(`Cannot find module '${request}'`), { code: 'MODULE_NOT_FOUND' })
  }
  return resolve.call(this, request, ...others)
}
