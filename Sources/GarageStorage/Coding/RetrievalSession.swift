import Foundation
import Platform

/// The source of objects, for direct retrieval and for references resolved later.
struct ObjectSource {
  /// The garage. Its own objects can be parked again without retrieving them.
  let garage: AnyObject
  let delegate: () -> (any DataEncryptionDelegate)?
  /// Runs a body with the current data and the calling thread's date decoding.
  let read: ((GarageView, JSONDecoder.DateDecodingStrategy?) throws -> Void) throws -> Void

  /// A record's decrypted JSON.
  func json(of record: StoredRecord, _ key: ObjectKey) throws -> JSONValue {
    guard !record.content.isEmpty else { throw GarageError.storageDataIsNil(key.label) }
    var bytes = record.content
    if record.isEncrypted {
      guard let delegate = delegate() else { throw GarageError.missingEncryptionDelegate(key.label) }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw GarageError.damaged(key.label, "its encrypted text is not UTF-8")
      }
      bytes = Array(try delegate.decrypt(text))
    }
    do throws(JSONParser.Failure) {
      return try JSONParser.value(of: bytes)
    } catch {
      throw GarageError.damaged(key.label, "\(error)", underlying: error)
    }
  }
}

/// One retrieval: creates objects from a single snapshot, each once.
final class RetrievalSession {
  /// An object under construction, and the properties that led to it from the previous one.
  private struct Frame {
    let key: ObjectKey
    let path: [any CodingKey]
  }

  let source: ObjectSource
  let view: GarageView
  /// Objects that live on, for references resolved later.
  let identities: IdentityMap
  let dates: JSONDecoder.DateDecodingStrategy?
  private let longestChain: Int
  private var made: [ObjectKey: Any] = [:]
  private var frames: [Frame] = []
  private var open: Set<ObjectKey> = []
  /// Nesting depth in the current object.
  private var depth = 0
  /// Total depth, including enclosing objects.
  private var levels = 0
  /// The last record read, which is often requested twice.
  private var last: (key: ObjectKey, record: StoredRecord)?

  init(
    _ source: ObjectSource, _ view: GarageView, dates: JSONDecoder.DateDecodingStrategy?,
    identities: IdentityMap = IdentityMap(), longestChain: Int = Nesting.longestChain
  ) {
    self.source = source
    self.view = view
    self.dates = dates
    self.identities = identities
    self.longestChain = longestChain
  }

  // MARK: - Objects

  func root<T: Decodable>(_ type: T.Type, _ key: ObjectKey) throws -> T? {
    if let object = made(key) { return try cast(object, key) }
    guard let record = try record(key) else { return nil }
    return try make(type, key, record, from: [])
  }

  func object<T: Decodable>(_ type: T.Type, _ key: ObjectKey, _ record: StoredRecord) throws -> T {
    if let object = made(key) { return try cast(object, key) }
    return try make(type, key, record, from: [])
  }

  private func make<T: Decodable>(
    _ type: T.Type, _ key: ObjectKey, _ record: StoredRecord, from path: [any CodingKey]
  ) throws -> T {
    try make(key, record, from: path) { json in
      let value = try self.inPlace(type, json, [])
      guard var syncable = value as? any Syncable else { return value }
      syncable.syncStatus = record.status
      return try self.cast(syncable, key)
    }
  }

  /// Runs `body` with a record's JSON while its object is under construction, and records the result.
  func make<Value>(
    _ key: ObjectKey, _ record: StoredRecord, from path: [any CodingKey], _ body: (JSONValue) throws -> Value
  ) throws -> Value {
    let frame = Frame(key: key, path: path)
    guard !open.contains(key) else {
      let start = frames.firstIndex { $0.key == key } ?? 0
      throw GarageError.cycle(path: text(of: frames[start...] + [frame]))
    }
    guard frames.count < longestChain else {
      throw GarageError.chainTooLong(path: text(of: frames[...] + [frame]), limit: longestChain)
    }
    frames.append(frame)
    open.insert(key)
    let outerDepth = depth
    depth = 0
    defer {
      frames.removeLast()
      open.remove(key)
      depth = outerDepth
    }
    let json = try source.json(of: record, key)
    let value: Value
    do {
      value = try body(json)
    } catch let error as DecodingError {
      throw error.naming(key.label)
    }
    guard type(of: value) is AnyClass else {
      made[key] = value
      return value
    }
    // Another thread that resolved a reference may have created it; that object wins.
    let object = identities.insert(value as AnyObject, key)
    made[key] = object
    return try cast(object, key)
  }

  /// The object that JSON refers to, of `type` or a subclass.
  private func referenced<T: Decodable>(_ type: T.Type, _ key: ObjectKey, _ path: [any CodingKey]) throws -> T {
    if let object = made(key) { return try cast(object, key) }
    guard let record = try record(key) else { throw missing(key, path) }
    let identity = TypeIdentity.of(type)
    if key.type == identity.name { return try make(type, key, record, from: path) }
    guard let other = TypeIdentity.type(named: key.type) as? any Decodable.Type, other is T.Type else {
      throw DecodingError.typeMismatch(
        type, .init(codingPath: path, debugDescription: "There is \(key.type) in place of \(identity.name)"))
    }
    return try cast(try make(other, key, record, from: path), key)
  }

  /// The object of a reference outside any retrieval.
  func resolve<T: Decodable>(_ type: T.Type, _ key: ObjectKey) throws -> T {
    guard try isThere(key) else {
      throw GarageError.failedToRetrieveObject(key.label)
    }
    return try referenced(type, key, [])
  }

  func isThere(_ key: ObjectKey) throws -> Bool { try made(key) != nil || record(key) != nil }

  func record(_ key: ObjectKey) throws -> StoredRecord? {
    if let last, last.key == key { return last.record }
    guard let record = try view.record(key) else { return nil }
    last = (key, record)
    return record
  }

  func made(_ key: ObjectKey) -> Any? { made[key] ?? identities[key] }

  func cast<T>(_ object: Any, _ key: ObjectKey) throws -> T {
    guard let object = object as? T else {
      let text = "It was made as \(type(of: object)), not as \(T.self)"
      throw DecodingError.typeMismatch(T.self, .init(codingPath: [], debugDescription: text)).naming(key.label)
    }
    return object
  }

  // MARK: - Values

  /// A nested value, from its JSON or the object it refers to.
  func decode<T: Decodable>(_ type: T.Type, from json: JSONValue, at path: [any CodingKey]) throws -> T {
    if let reference = json.reference {
      if Self.pointsToObjects(type) { return try referenced(type, reference, path) }
      // An optional that points to a deleted object is nil.
      if let optional = type as? any OptionalValue.Type, try isMissing(optional.innermostType, json) {
        return try inPlace(type, .null, path)
      }
    }
    return try inPlace(type, json, path)
  }

  /// Whether JSON references for this type mean parked objects. A class without an identifier may have identified
  /// subclasses.
  static func pointsToObjects(_ type: Any.Type) -> Bool { TypeIdentity.of(type).isIdentified || type is AnyClass }

  func isMissing(_ type: Any.Type, _ json: JSONValue) throws -> Bool {
    guard let reference = json.reference, Self.pointsToObjects(type) else { return false }
    return try !isThere(reference)
  }

  private func inPlace<T: Decodable>(_ type: T.Type, _ json: JSONValue, _ path: [any CodingKey]) throws -> T {
    let decoder = TreeDecoder(self, json, path)
    if let value = try decoder.standard(type) { return value }
    let value = try nest(path) {
      if T.self == Date.self, let date = try date(decoder) as? T { return date }
      return try T(from: decoder)
    }
    return json.nestedStatus.flatMap { Self.with($0, value) } ?? value
  }

  /// The value with a sync status set; `nil` if it is not ``Syncable``.
  static func with<T>(_ status: SyncStatus, _ value: T) -> T? {
    guard var syncable = value as? any Syncable else { return nil }
    syncable.syncStatus = status
    return syncable as? T
  }

  /// Enters a nested value, on another stack if this one could overflow.
  func nest<Value>(_ path: [any CodingKey], _ body: () throws -> Value) throws -> Value {
    guard depth < Nesting.decodingLimit else {
      throw GarageError.nestedTooDeeply(path: place(path), limit: Nesting.decodingLimit)
    }
    depth += 1
    levels += 1
    defer {
      depth -= 1
      levels -= 1
    }
    guard RoomyStack.isDue(at: levels) else { return try body() }
    return try RoomyStack.run(body)
  }

  // MARK: - Messages

  func missing(_ key: ObjectKey, _ path: [any CodingKey]) -> DecodingError {
    let error = GarageError.missingReference(key.label, path: place(path))
    return .dataCorrupted(.init(codingPath: path, debugDescription: error.message, underlyingError: error))
  }

  private func place(_ path: [any CodingKey]) -> String { (frames.last?.key.label ?? "") + path.text }

  /// Shows only the first and last of many.
  private func text(of frames: ArraySlice<Frame>) -> String {
    func text(_ frames: ArraySlice<Frame>) -> String { frames.map { "\($0.path.text) → \($0.key.label)" }.joined() }
    let first = frames.first?.key.label ?? ""
    let rest = frames.dropFirst()
    guard rest.count > 16 else { return first + text(rest) }
    return "\(first)\(text(rest.prefix(8))) → (\(rest.count - 16) more)\(text(rest.suffix(8)))"
  }
}

extension RetrievalSession {
  func date(_ decoder: TreeDecoder) throws -> Date {
    guard let dates else { return try Self.date(from: decoder) }
    switch dates {
    case .deferredToDate: return try Date(from: decoder)
    case .secondsSince1970: return Date(timeIntervalSince1970: try decoder.scalar(Double.self))
    case .millisecondsSince1970: return Date(timeIntervalSince1970: try decoder.scalar(Double.self) / 1_000)
    case .iso8601:
      let text = try decoder.scalar(String.self)
      guard let date = ISODate.date(of: text) else { throw decoder.corrupted("\"\(text)\" is not a date of ISO 8601") }
      return date
    // On other platforms it is `.custom`.
    #if canImport(Darwin)
      case .formatted(let formatter):
        let text = try decoder.scalar(String.self)
        guard let date = formatter.date(from: text) else {
          throw decoder.corrupted("\"\(text)\" has not the format of the date strategy")
        }
        return date
    #endif
    case .custom(let decode): return try decode(decoder)
    @unknown default: return try Self.date(from: decoder)
    }
  }

  /// A date in the garage's own form, or in the original's for mapped objects.
  static func date(from decoder: any Decoder) throws -> Date {
    if let tree = decoder as? TreeDecoder, let text = tree.json.originalDate, let date = ISODate.date(of: text) {
      return date
    }
    return try ISODate.decode(from: decoder)
  }
}

/// The live objects of one retrieval, for references resolved later. Holds them weakly; thread-safe.
// @unchecked: `objects` is accessed with `lock` held. Users share the returned objects at their discretion.
final class IdentityMap: @unchecked Sendable {
  private struct Weak {
    weak var object: AnyObject?
  }

  private let lock = NSLock()
  private var objects: [ObjectKey: Weak] = [:]

  subscript(key: ObjectKey) -> AnyObject? { lock.withLock { objects[key]?.object } }

  /// Adds an object unless one is present. Returns the one in the map.
  func insert(_ object: AnyObject, _ key: ObjectKey) -> AnyObject {
    lock.withLock {
      if let present = objects[key]?.object { return present }
      objects[key] = Weak(object: object)
      return object
    }
  }
}

protocol OptionalValue {
  /// The type wrapped in nested optionals.
  static var innermostType: Any.Type { get }
}

extension Optional: OptionalValue {
  static var innermostType: Any.Type { (Wrapped.self as? any OptionalValue.Type)?.innermostType ?? Wrapped.self }
}

/// Continues deep recursion on another thread's stack.
///
/// An owner waits on the stack while a `Decodable` type creates its object, so chains longer than one stack need
/// another every so many levels.
enum RoomyStack {
  /// Levels on the first stack, which may have only 512 KiB.
  private static let firstLevels = 64
  /// Levels on each further stack.
  private static let levels = 512
  /// 64 KiB for each level, twice a debug build's need for large types. Untouched memory costs nothing.
  private static let size = 32 << 20

  static func isDue(at level: Int) -> Bool { level >= firstLevels && (level - firstLevels).isMultiple(of: levels) }

  // @unchecked: `body` is used by the new thread, while the other one waits.
  private final class Work: @unchecked Sendable {
    private var body: (() -> Void)?
    let ended = DispatchSemaphore(value: 0)

    init(_ body: @escaping () -> Void) { self.body = body }

    /// Releases the body before it counts as ended.
    func run() {
      body.take()?()
      ended.signal()
    }
  }

  /// Runs `body` on a new thread and waits for it.
  ///
  /// - Throws: The error of `body`; `.storageFailed` if no thread can be created.
  static func run<R>(_ body: () throws -> R) throws -> R {
    var result: Result<R, any Error>?
    try withoutActuallyEscaping(body) { body in
      let work = Work { result = Result { try body() } }
      do throws(SystemError) {
        try PlatformThread.start(name: "garage", stackSize: size) { work.run() }
      } catch {
        throw failure(error.errno)
      }
      work.ended.wait()
    }
    guard let result else { preconditionFailure("The thread ended without a result.") }
    return try result.get()
  }

  private static func failure(_ status: Int32) -> GarageError {
    GarageError(
      .storageFailed,
      """
      There is no thread for a long chain of objects: \(SystemError.text(of: status)). Raise the limits of threads \
      and of address space (ulimit -u, ulimit -v), or declare a property on the way with @Reference.
      """)
  }
}
