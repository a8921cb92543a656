'use strict'
// The page of a package: its exports, their options, what they give, and the types.

const ts = require('typescript')
const { slugOf } = require('../anchors')
const { descriptionOf, tagsOf } = require('./comments')
const { callBlock, sentence, table } = require('./markdown')
const { Options } = require('./options')
const { isOurs } = require('./shapes')
const { Words } = require('./words')

/**
 * @typedef {import('typescript').Symbol} Symbol
 * @typedef {import('typescript').Type} Type
 * @typedef {import('./places').Section} Section
 * @typedef {import('./shapes').Call} Call
 * @typedef {import('./shapes').Field} Field
 * @typedef {{ link: string, fields: Field[] } | null} Holder  of options that several calls have
 */

const LINE_LENGTH_MAX = 90
const CALLBACK = 'Each method that returns a promise also takes a node callback as its last argument. With a callback it returns nothing.'
const CALLBACK_OF_ONE = 'It also takes a node callback as its last argument, and then returns nothing.'

class PackagePage {
  #packages
  #shapes
  #page
  #words
  #options
  /** Whether the main entry is being written. The others are for packages, and shown shortly. */
  #isMain = true
  /** @type {Set<Symbol>} types */
  #written = new Set()
  /** Calls without a description. @type {string[]} */
  #missing = []

  /**
   * @param {import('./packages').Packages} packages
   * @param {import('./shapes').Shapes} shapes
   * @param {import('./places').Places} places
   * @param {import('./places').Page} page
   */
  constructor (packages, shapes, places, page) {
    this.#packages = packages
    this.#shapes = shapes
    this.#page = page
    this.#words = new Words(packages, shapes, places, page)
    this.#options = new Options(packages, shapes, this.#words, page.package.folder)
  }

  get folder () {
    return this.#page.package.folder
  }

  get missing () {
    return [...this.#missing, ...this.#options.missing]
  }

  /** @returns {string} */
  writeHead () {
    const { name, folder, description } = this.#page.package
    return [
      `# ${name}: reference`,
      `${sentence(description)} [The README](../../packages/${folder}/README.md) says when to use it, and how.`,
      '*This page is generated: `npm run reference` writes it, from the types and comments of the sources.*'
    ].join('\n\n')
  }

  /** @returns {string}  all but the types */
  writeMain () {
    const { name, entries } = this.#page.package
    const parts = []
    for (const entry of entries) {
      this.#isMain = this.#words.addsTypes = this.#options.isNoting = entry.specifier === name
      parts.push(...this.#entry(entry))
    }
    this.#isMain = this.#words.addsTypes = this.#options.isNoting = true
    return parts.filter(Boolean).join('\n\n')
  }

  /** @returns {string}  types that were named until now and have no section yet */
  writeTypes () {
    const parts = []
    // Types that a type names are appended while this goes on.
    for (const [symbol, name] of this.#page.types) {
      if (this.#written.has(symbol)) continue
      this.#written.add(symbol)
      parts.push(this.#type(symbol, name))
    }
    return parts.join('\n\n')
  }

  /** @param {import('./packages').Entry} entry @returns {string[]} */
  #entry ({ specifier, exports }) {
    const sections = this.#page.sections.get(specifier) ?? []
    const values = exports.filter(({ value }) => value !== null)
    const others = values.filter(({ value }) => !sections.some((section) => section.value === value))
    const constants = sections.filter(({ call, construct }) => call === null && construct === null)
    return [
      this.#isMain ? '' : `## ${specifier}`,
      values.length === 0 ? '' : requireBlock(specifier, values.map(({ name }) => name)),
      others.length === 0 ? '' : `From other packages: ${others.map(({ name, value }) => this.#words.ofName(name, value)).join(', ')}.`,
      ...sections.filter((section) => !constants.includes(section)).map((section) => this.#section(section)),
      constants.length === 0 ? '' : this.#constants(specifier, constants)
    ]
  }

  /** @param {Section} section */
  #section (section) {
    const { name, heading, call, construct, value, made } = section
    const level = this.#isMain ? '##' : '###'
    const shown = /** @type {Call} */ (call ?? construct)
    const description = this.#valueDescription(value)
    if (description === '' && shown.returnsText === '' && this.#isMain) this.#missing.push(`${this.#packages.placeOf(value)}: ${name}()`)
    const both = call !== null && construct !== null && !description.includes('without `new`') ? ' With or without `new`.' : ''
    // Of an object that is shown here, its name says enough.
    const result = made === null ? shown.returns : { text: shown.returns.text.replace(/[<|].*/s, '').trim(), symbols: [] }
    const fields = this.#options.fieldsOf(shown)
    return [
      `${level} ${heading}`,
      callBlock(call === null ? `new ${name}` : name, parameterTexts(shown), result.text),
      this.#words.sentenceOf(description) + both,
      ...this.#callDetails({ ...shown, returns: result }),
      this.#tags(value),
      shown.takesCallback ? CALLBACK_OF_ONE : '',
      fields.length === 0 ? '' : `${level}# ${section.optionsHeading}`,
      ...this.#optionsOf(shown, fields, { around: description, link: linkTo(name, section.optionsHeading) }),
      ...made === null ? [] : this.#members(section, made, `${level}#`)
    ].filter(Boolean).join('\n\n')
  }

  /** The description of what is assigned to the name, or that of its type. @param {Symbol} value */
  #valueDescription (value) {
    for (const { parent } of value.declarations ?? []) {
      if (!parent || !ts.isBinaryExpression(parent)) continue
      const target = ts.isParenthesizedExpression(parent.right) ? parent.right.expression : parent.right
      const symbol = this.#packages.checker.getSymbolAtLocation(target)
      const text = symbol ? descriptionOf(symbol) : ''
      if (text !== '') return text
    }
    return descriptionOf(value)
  }

  /** Parameters and result. @param {Call} call @returns {string[]} */
  #callDetails (call) {
    const parameters = call.parameters.filter(({ isOptions }) => !isOptions)
    const isTold = parameters.some(({ description, type }) => description !== '' || this.#words.hasLink(type))
    const rows = parameters.map(({ name, type, description }) => [`\`${name}\``, this.#words.ofType(type), this.#words.ofComment(description)])
    const isResultTold = call.returnsText !== '' || this.#words.hasLink(call.returns)
    const text = call.returnsText === '' ? '' : `: ${this.#words.ofComment(call.returnsText)}`
    return [
      isTold ? table(['parameter', 'type', 'description'], rows) : '',
      isResultTold ? `Result: ${this.#words.ofType(call.returns)}${text}.`.replace(/\.\.$/, '.') : ''
    ]
  }

  /** @type {(call: Call, fields: Field[], words: { around: string, link: string, holder?: Holder }) => string[]} */
  #optionsOf (call, fields, { around, link, holder = null }) {
    if (fields.length === 0) return []
    const description = call.parameters.find(({ isOptions }) => isOptions)?.description ?? ''
    // What is said about the options is about the only one.
    const [only] = fields
    if (fields.length === 1 && only.description === '' && !description.startsWith('`')) {
      return [this.#options.show([{ ...only, description }], around, link)]
    }
    const parts = splitByName(description)
    const told = fields.map((field) => ({ ...field, description: field.description || (parts.get(field.name) ?? '') }))
    const text = parts.size > 0 ? '' : this.#words.sentenceOf(description)
    return [text, this.#options.show(told, `${around} ${description}`, link, holder)]
  }

  /** @type {(section: Section, made: Type, level: string) => string[]} */
  #members (section, made, level) {
    const all = this.#shapes.fieldsOf([made])
    const fields = all.filter(({ symbol }) => {
      const owner = this.#page.owners.get(symbol.declarations?.[0] ?? symbol)
      return this.#packages.folderOf(symbol) === this.folder && (!this.#isMain || !owner || owner === section)
    })
    const others = all.filter((field) => !fields.includes(field) && isOurs(field.symbol))
    const isMethod = (/** @type {Field} */ { type, symbol }) => this.#shapes.isMethod(type, symbol)
    const methods = fields.filter(isMethod).map((field) => ({ field, call: this.#callOf(field) }))
    const properties = fields.filter((field) => !isMethod(field))
    if (!this.#isMain) return fields.length === 0 ? [] : [this.#words.fieldTable(fields)]
    const inherited = others.map((field) => this.#words.ofMember(field)).join(', ')
    const events = made.symbol ? tagsOf(made.symbol).filter(({ name }) => name === 'fires') : []
    const found = this.#options.findHolder(methods.map(({ field, call }) => ({ call, place: field })))
    const place = found?.place
    const holder = found && { ...found, link: this.#words.ofName(found.place.name, place?.symbol.declarations?.[0]) }
    const promising = methods.filter(({ call }) => /^Promise\b/.test(call?.returns.text ?? ''))
    const allCallBack = promising.length > 1 && promising.every(({ call }) => call?.takesCallback)
    return [
      inherited === '' ? '' : `It also has ${inherited}.`,
      allCallBack ? CALLBACK : '',
      ...methods.map(({ field, call }) => {
        return this.#method(field, call, level, { holder: place === field ? null : holder, saysCallback: !allCallBack })
      }),
      properties.length === 0 ? '' : `${level} Properties of ${section.name}\n\n${this.#words.fieldTable(properties)}`,
      events.length === 0 ? '' : `${level} Events of ${section.name}\n\n${this.#eventTable(events)}`
    ]
  }

  /** @param {import('./comments').Tag[]} events  the name of each, and what it says */
  #eventTable (events) {
    return table(['event', 'description'], events.map(({ text }) => {
      const [name, ...rest] = text.split(' ')
      return [`\`${name}\``, this.#words.ofComment(rest.join(' ').trim())]
    }))
  }

  /** @param {Field} field */
  #callOf ({ type }) {
    return this.#shapes.callOf(this.#packages.checker.getNonNullableType(type))
  }

  /**
   * @param {Field} field
   * @param {Call | null} call
   * @param {string} level
   * @param {{ holder: Holder, saysCallback: boolean }} how
   */
  #method (field, call, level, { holder, saysCallback }) {
    const { name, symbol, description } = field
    const declaration = symbol.declarations?.[0]
    const link = this.#words.ofName(name, declaration)
    this.#noteMissing(field, call)
    return [
      `${level} ${(declaration && this.#page.headings.get(declaration)) ?? name}`,
      call === null ? '' : callBlock(name, parameterTexts(call), call.returns.text),
      this.#words.sentenceOf(description),
      ...call === null ? [] : this.#callDetails(call),
      this.#tags(symbol),
      call?.takesCallback && saysCallback ? CALLBACK_OF_ONE : '',
      ...call === null ? [] : this.#optionsOf(call, this.#options.fieldsOf(call), { around: description, link, holder })
    ].filter(Boolean).join('\n\n')
  }

  /** @type {(field: Field, call: Call | null) => void} */
  #noteMissing ({ name, symbol, description }, call) {
    const declaration = symbol.declarations?.[0]
    // A function that was handed in is described with the options.
    const isHandedIn = declaration && ts.isExpression(declaration)
    if (description !== '' || isHandedIn || call?.returnsText) return
    this.#missing.push(`${this.#packages.placeOf(symbol)}: ${name}()`)
  }

  /** @param {Symbol} symbol */
  #tags (symbol) {
    const tags = tagsOf(symbol).filter(({ name }) => name === 'throws')
    const texts = new Set(tags.map(({ text }) => text.replace(/^(?:Type|Log)Error /, '')))
    return texts.size === 0 ? '' : this.#words.sentenceOf(`Throws ${[...texts].join('; ')}`)
  }

  /** @type {(specifier: string, sections: Section[]) => string} */
  #constants (specifier, sections) {
    const { checker } = this.#packages
    const title = this.#isMain ? '## Constants' : `### Constants of ${specifier}`
    return `${title}\n\n${table(['name', 'value', 'description'], sections.map(({ name, value }) => {
      const type = checker.getTypeOfSymbol(value)
      const isPlain = (type.flags & (ts.TypeFlags.Literal | ts.TypeFlags.StringLike | ts.TypeFlags.NumberLike)) !== 0
      const anchor = `<a id="${slugOf(name)}"></a>`
      const shown = isPlain ? `\`${checker.typeToString(type)}\`` : 'object'
      return [`${anchor}\`${name}\``, shown, this.#words.ofComment(this.#valueDescription(value))]
    }))}`
  }

  /** @type {(symbol: Symbol, name: string) => string} */
  #type (symbol, name) {
    const type = this.#packages.checker.getDeclaredTypeOfSymbol(symbol)
    const description = descriptionOf(symbol)
    return [`### Type \`${name}\``, this.#words.sentenceOf(description), ...this.#typeDetails(symbol, type, description)].filter(Boolean).join('\n\n')
  }

  /** @type {(symbol: Symbol, type: Type, description: string) => string[]} */
  #typeDetails (symbol, type, description) {
    const fields = type.isUnion() ? [] : this.#shapes.fieldsOf([type]).filter(({ symbol }) => isOurs(symbol))
    const isOptions = fields.length > 0 && (fields.every(({ isOptional }) => isOptional) || /Options$/.test(symbol.name))
    if (isOptions) {
      this.#options.isNoting = /Options$/.test(symbol.name)
      return [this.#options.show(fields, description, linkTo(symbol.name, `Type ${symbol.name}`))]
    }
    if (fields.length > 0) return [this.#words.fieldTable(fields)]
    const call = this.#shapes.callOf(type)
    if (call !== null) return [callBlock('', parameterTexts(call), call.returns.text, ' => '), ...this.#callDetails(call)]
    const typedef = symbol.declarations?.find(ts.isJSDocTypedefTag)
    const text = this.#shapes.textOf(type, typedef)
    return [/\bextends\b/.test(text.text) ? 'The compiler works it out.' : `Is ${this.#words.ofType(text)}.`]
  }
}

/** @param {Call} call @returns {string[]} */
function parameterTexts (call) {
  return call.parameters.map(({ name, isOptional, isRest, isOptions, type }) => {
    return `${isRest ? '...' : ''}${name}${isOptional ? '?' : ''}${isOptions ? '' : `: ${type.text}`}`
  })
}

/**
 * The parts of a text that names each option before it says what that is for, as in `signal`: an abort ends it.
 * There are none if the text says something else, too.
 * @param {string} text
 * @returns {Map<string, string>}
 */
function splitByName (text) {
  const parts = text.split(/(?<=[.;]) (?=`\w+`: )/).map((part) => /^`(\w+)`: (.*?);?$/.exec(part))
  return new Map(parts.every((part) => part !== null) ? parts.map((part) => [part?.[1] ?? '', part?.[2] ?? '']) : [])
}

/** @type {(specifier: string, names: string[]) => string} */
function requireBlock (specifier, names) {
  let length = 0
  const list = names.map((name, index) => {
    const isNewLine = length + name.length > LINE_LENGTH_MAX
    length = (isNewLine ? 0 : length) + name.length + 2
    return index === 0 ? name : `,${isNewLine ? '\n  ' : ' '}${name}`
  }).join('')
  const isLong = list.includes('\n')
  return `\`\`\`ts\nconst {${isLong ? '\n  ' : ' '}${list}${isLong ? '\n' : ' '}} = require('${specifier}')\n\`\`\``
}

/** @type {(name: string, heading: string) => string} */
function linkTo (name, heading) {
  return `[\`${name}\`](#${slugOf(heading)})`
}

exports.PackagePage = PackagePage
