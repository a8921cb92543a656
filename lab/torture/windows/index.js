'use strict'
// The log under the rules of Windows, for the torture.

const { patientStorage } = require('@millrace/block-file')
const { windowsStorage } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')

/** @type {(path: string, options: any) => any} each process has its own open files */
exports.OffsetLog = (path, { storage, ...options }) => {
  return OffsetLog(path, { ...options, storage: patientStorage(windowsStorage(storage)) })
}
