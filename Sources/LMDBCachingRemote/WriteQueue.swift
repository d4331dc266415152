import Foundation
import LMDBCaching
import Logging
import Platform
import Synchronization

/// Writes that wait to be sent, in order; of several to one key the last one.
///
/// It is the first tier of its process: what waits here, or is being sent, comes before what the local tiers have. They
/// are given a write when the server has it, and with its revision.
///
/// Each has a number, and the server keeps the number of the last one that it applied: what is sent again, since it is
/// not known what became of it, has an effect once.
final class WriteQueue: Sendable {
  /// A write that waits.
  enum Write: Sendable {
    case set(PortableEntry)
    case remove
    /// Of every key that begins so. Everything before it goes first.
    case removeAll
  }

  /// Immutable.
  final class Item: Sendable {
    let number: Int
    /// Or a prefix.
    let key: String
    let write: Write
    let size: Int

    init(number: Int, key: String, write: Write) {
      self.number = number
      self.key = key
      self.write = write
      // What it takes besides what it says is guessed.
      size = if case .set(let entry) = write { entry.size + 128 } else { key.utf8.count + 128 }
    }

    var isRemovalOfAll: Bool { if case .removeAll = write { true } else { false } }
  }

  /// What a read finds.
  enum Found: Sendable {
    case value(PortableEntry, number: Int)
    /// The fleet has nothing under the key once this is sent. What is in the local tiers was removed before, and is not
    /// older if it was made here.
    case nothing
  }

  struct State {
    /// In the order of their numbers. What another one took the place of, or is being sent, is `nil`.
    var items: [Item?] = []
    /// What the first of them would be counted as, if none had been dropped from the beginning.
    var first = 0
    /// Those before it have been sent.
    var head = 0
    /// How many there are.
    var count = 0
    /// Where the last write of a key is, counted as `first` is.
    var places: [ByteKey: Int] = [:]
    var lastNumber = 0
    /// Removals of many, by their numbers, until they are on the server.
    var removals: [Int: String] = [:]
    var size = 0
    /// What is being sent, in order.
    var batch: [Item] = []
    var isSealed = false
    var waiters: [Int: @Sendable () -> Void] = [:]
    var lastWaiter = 0

    func item(of key: String) -> Item? { places[ByteKey(key)].flatMap { items[$0 - first] } }

    var isEmpty: Bool { count == 0 && batch.isEmpty }
  }

  /// What the server knows the queue as.
  let identifier: String
  private let limit: Int
  let outbox: Outbox?
  let gate: LocalGate?
  let state: Mutex<State>

  /// - Parameters:
  ///   - outbox: Keeps what waits, if that is to survive the process.
  ///   - items: What waits already, and is in the outbox.
  ///   - last: The greatest number of what is in the outbox, also of what cannot be read and stays there; 0: nothing
  ///     is.
  ///   - gate: Is told whether anything waits.
  init(limit: Int, outbox: Outbox? = nil, items: [Item] = [], last: Int = 0, gate: LocalGate? = nil) {
    identifier = outbox?.identifier ?? UUID().uuidString
    self.limit = limit
    self.outbox = outbox
    self.gate = gate
    var state = State()
    for item in items {
      let replaced = state.insert(item, inPlaceOf: state.placesReplaced(by: item))
      outbox?.remove(replaced.map(\.number))
    }
    if last > 0 {
      // The server may have had later ones that the disk lost with the power: theirs are not used again, nor are those
      // of what cannot be read, which would be replaced on the disk, and taken for made by the server.
      state.lastNumber = ((last >> 32) + 1) << 32
    }
    gate?.set(.waiting, !state.isEmpty)
    self.state = Mutex(state)
  }

  /// Ends the use of the outbox: what waits is kept there. Waits for the disk.
  func end() { outbox?.end() }

  var count: Int { state.withLock { $0.count + $0.batch.count } }
  var size: Int { state.withLock { $0.size } }

  // MARK: Adding

  /// Adds a write.
  ///
  /// - Throws: `.queueFull`, `.notKept`, `.closed`
  func add(_ key: String, _ write: Write) throws(RemoteTierError) {
    // Released after the lock: the `deinit` of a value may use the cache.
    let replaced = try state.withLock { (state) throws(RemoteTierError) -> [Item] in
      if state.isSealed { throw .cacheClosed }
      let replaced: [Item]
      let item = Item(number: state.lastNumber + 1, key: key, write: write)
      if item.isRemovalOfAll {
        let places = state.placesReplaced(by: item)
        try check(places.reduce(state.size + item.size) { $0 - (state.items[$1]?.size ?? 0) }, state)
        try outbox?.keep(item)
        replaced = state.insert(item, inPlaceOf: places)
      } else {
        let place = state.places[ByteKey(key)].map { $0 - state.first }
        try check(state.size + item.size - (place.flatMap { state.items[$0]?.size } ?? 0), state)
        try outbox?.keep(item)
        replaced = state.insert(item, inPlaceOf: place).map { [$0] } ?? []
      }
      if !replaced.isEmpty { outbox?.remove(replaced.map(\.number)) }
      // Most of the time something waits already. The lock orders this.
      if let gate, !gate.has(.waiting) { gate.set(.waiting, true) }
      return replaced
    }
    withExtendedLifetime(replaced) {}
  }

  private func check(_ size: Int, _ state: State) throws(RemoteTierError) {
    if size <= limit { return }
    throw RemoteTierError(
      .queueFull,
      "\(state.size) bytes wait to be sent, and \(limit) may. Let the server catch up, or allow for more.")
  }

  /// A value that waits has expired: it becomes a removal. What is being sent stays what it is.
  ///
  /// What the outbox keeps stays, too: an expired value is sent as a removal, and found to have expired by the next
  /// process.
  ///
  /// - Returns: Whether it is a removal now.
  func expire(_ key: String, number: Int) -> Bool {
    // Released after the lock, as above.
    let expired = state.withLock { state -> Item? in
      guard let place = state.places[ByteKey(key)], let old = state.items[place - state.first], old.number == number
      else { return nil }
      let item = Item(number: number, key: key, write: .remove)
      state.items[place - state.first] = item
      state.size += item.size - old.size
      return old
    }
    return expired != nil
  }

  /// Takes nothing any more.
  func seal() { state.withLock { $0.isSealed = true } }

  // MARK: Reading

  /// What waits for a key, or is being sent; `nil` if the server knows.
  func find(_ key: String) -> Found? {
    state.withLock { state in
      if state.isEmpty { return nil }
      let last = state.item(of: key) ?? state.batch.last { ByteKey($0.key) == ByteKey(key) && !$0.isRemovalOfAll }
      if !state.removals.isEmpty,
        let removal = state.removals.filter({ key.utf8.starts(with: $0.value.utf8) }).map(\.key).max(),
        removal > last?.number ?? 0
      {
        return .nothing
      }
      guard let last else { return nil }
      switch last.write {
      case .set(let entry): return .value(entry, number: last.number)
      case .remove, .removeAll: return .nothing
      }
    }
  }

  // MARK: Waiting

  /// Calls `body` when nothing waits, at once if that is so.
  ///
  /// - Returns: What ``forget(waiter:)`` is to be told if it is not to be called any more.
  func whenEmpty(_ body: @escaping @Sendable () -> Void) -> Int {
    let number = state.withLock { state -> Int in
      if state.isEmpty { return 0 }
      state.lastWaiter += 1
      state.waiters[state.lastWaiter] = body
      return state.lastWaiter
    }
    if number == 0 { body() }
    return number
  }

  func forget(waiter: Int) { state.withLock { $0.waiters[waiter] = nil } }
}

extension RemoteTierError {
  static let cacheClosed = RemoteTierError(.closed, "The distributed cache was closed. Make another one.")
}

// What is sent, and when it is done.

extension WriteQueue {
  /// What is to be sent next: several writes of keys, or one removal of many; the last batch again if it is not
  /// settled.
  func nextBatch() -> [Item] {
    state.withLock { state in
      guard state.batch.isEmpty else { return state.batch }
      var size = 0
      var index = state.head
      while index < state.items.count, state.batch.count < WriteBatch.length, size < WriteBatch.size {
        guard let item = state.items[index] else {
          index += 1
          continue
        }
        if item.isRemovalOfAll, !state.batch.isEmpty { break }
        state.items[index] = nil
        index += 1
        state.count -= 1
        if !item.isRemovalOfAll { state.places[ByteKey(item.key)] = nil }
        state.batch.append(item)
        size += item.size
        if item.isRemovalOfAll { break }
      }
      state.head = index
      if index > 1_024, index * 2 > state.items.count {
        state.items.removeFirst(index)
        state.first += index
        state.head = 0
      }
      return state.batch
    }
  }

  /// The first so many writes of the batch are on the server, and in the local tiers if they are to be there; or given
  /// up.
  func settle(_ count: Int) {
    // Not under the lock, which every read takes: the disk may be slow. Nobody but the sender, which calls this,
    // changes the batch.
    let numbers = state.withLock { $0.batch.prefix(count).map(\.number) }
    outbox?.remove(numbers)
    // The values are released after the lock.
    let (waiters, settled) = state.withLock { state -> ([@Sendable () -> Void], ArraySlice<Item>) in
      let settled = state.batch.prefix(count)
      for item in settled {
        state.size -= item.size
        if item.isRemovalOfAll { state.removals[item.number] = nil }
      }
      state.batch.removeFirst(settled.count)
      guard state.isEmpty else { return ([], settled) }
      gate?.set(.waiting, false)
      defer { state.waiters = [:] }
      return (Array(state.waiters.values), settled)
    }
    withExtendedLifetime(settled) {}
    for waiter in waiters { waiter() }
  }

  /// Whether a later write of a key waits: what was sent of it is not worth being stored.
  func hasNewer(than item: Item) -> Bool { state.withLock { $0.places[ByteKey(item.key)] != nil } }
}

extension WriteQueue.State {
  /// Where the writes are that one takes the place of, as indices of `items`.
  func placesReplaced(by item: WriteQueue.Item) -> [Int] {
    guard item.isRemovalOfAll else {
      return places[ByteKey(item.key)].map { [$0 - first] } ?? []
    }
    return items.indices.dropFirst(head).filter { place in
      guard let other = items[place], !other.isRemovalOfAll else { return false }
      return other.key.utf8.starts(with: item.key.utf8)
    }
  }

  /// - Returns: Those that it takes the place of, which are not to be released with a lock held.
  mutating func insert(_ item: WriteQueue.Item, inPlaceOf replaced: [Int]) -> [WriteQueue.Item] {
    guard item.isRemovalOfAll else { return insert(item, inPlaceOf: replaced.first).map { [$0] } ?? [] }
    let dropped = replaced.compactMap { place -> WriteQueue.Item? in
      items[place].map { places[ByteKey($0.key)] = nil }
      return drop(place)
    }
    removals[item.number] = item.key
    append(item)
    return dropped
  }

  /// The same for a write of one key.
  mutating func insert(_ item: WriteQueue.Item, inPlaceOf replaced: Int?) -> WriteQueue.Item? {
    let old = replaced.flatMap { drop($0) }
    places[ByteKey(item.key)] = first + items.count
    append(item)
    return old
  }

  private mutating func append(_ item: WriteQueue.Item) {
    lastNumber = item.number
    items.append(item)
    count += 1
    size += item.size
    if items.count > 1_024, items.count > 4 * count { compact() }
  }

  /// Forgets the write at an index, and leaves its place.
  private mutating func drop(_ index: Int) -> WriteQueue.Item? {
    guard let item = items[index] else { return nil }
    items[index] = nil
    count -= 1
    size -= item.size
    return item
  }

  /// Closes the gaps.
  private mutating func compact() {
    first += items.count
    head = 0
    items.removeAll { $0 == nil }
    places.removeAll(keepingCapacity: true)
    for (index, item) in items.enumerated() {
      if let item, !item.isRemovalOfAll { places[ByteKey(item.key)] = first + index }
    }
  }
}

extension WriteQueue {
  /// A write as it is kept on the disk.
  struct KeptItem: Sendable {
    let number: Int
    let bytes: Data

    private static let set: UInt8 = 1
    private static let remove: UInt8 = 2
    private static let removeAll: UInt8 = 3

    /// The write.
    ///
    /// - Parameter reading: Makes an entry of a record.
    /// - Throws: `.notKept` for what is none, and what `reading` does.
    func item(_ reading: (Data, String) throws -> PortableEntry) throws -> Item {
      let header = [UInt8](bytes.prefix(9))
      let length = header.dropFirst().reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
      guard header.count == 9, length <= UInt64(bytes.count - 9),
        let key = String(validating: bytes.dropFirst(9).prefix(Int(length)), as: UTF8.self)
      else { throw Self.unreadable }
      switch header[0] {
      case Self.set:
        return Item(number: number, key: key, write: .set(try reading(Data(bytes.dropFirst(9 + Int(length))), key)))
      case Self.remove: return Item(number: number, key: key, write: .remove)
      case Self.removeAll: return Item(number: number, key: key, write: .removeAll)
      default: throw Self.unreadable
      }
    }

    private static var unreadable: RemoteTierError {
      RemoteTierError(.notKept, "It is no write of this version, or was damaged.")
    }

    fileprivate static func bytes(of item: Item) -> Data {
      let operation =
        switch item.write {
        case .set: set
        case .remove: remove
        case .removeAll: removeAll
        }
      var bytes = Data([operation])
      withUnsafeBytes(of: UInt64(item.key.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: item.key.utf8)
      if case .set(let entry) = item.write { bytes.append(entry.record) }
      return bytes
    }
  }
}

extension WriteQueue.Item {
  /// A byte for what it does, the length of the key, the key, and the record of what is set.
  var kept: Data { WriteQueue.KeptItem.bytes(of: self) }
}

/// What a queue keeps on the disk, so that it survives the process: a cache without limits, whose keys are the numbers
/// of the writes.
///
/// Every process has its own, in a folder that the processes of a machine share: a directory, and beside it a file that
/// is locked as long as the process lives. Those of processes that have ended without having sent everything are found
/// by the next one.
final class Outbox: Sendable {
  /// An outbox, and what was left in it.
  struct Opened: Sendable {
    let outbox: Outbox
    /// In order.
    let items: [WriteQueue.KeptItem]
    /// The greatest number of all that is kept, of what cannot be read as well; 0: nothing is.
    let last: Int
  }

  private static let lockSuffix = ".lock"
  /// Behind it nothing could follow. Nobody gets there, but whoever can write to the folder may say so.
  private static let greatestNumber = 1 << 62

  /// What the server knows the queue as.
  let identifier: String
  private let folder: Directory
  private let lock: FileLock
  private let disk: DiskCache
  private let local: LMDBCache

  private init(_ identifier: String, _ folder: Directory, _ lock: consuming FileLock, _ local: LMDBCache) throws {
    self.identifier = identifier
    self.folder = folder
    self.lock = lock
    self.local = local
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    configuration.logger = local.logger
    disk = try DiskCache(directory: URL(fileURLWithPath: folder.path(of: identifier)), configuration: configuration)
  }

  /// Opens those that nobody has, and makes one if there is none. Empty ones that nobody has are removed.
  ///
  /// - Parameter local: Whose log is told of what fails.
  /// - Returns: The process's own first, whose writes are the first to be sent.
  static func open(in folder: URL, _ local: LMDBCache) throws(RemoteTierError) -> [Opened] {
    do {
      let folder = try Directory(path: folder.path, creating: true)
      var found: [Opened] = []
      for name in try folder.names() where name.hasSuffix(lockSuffix) {
        guard let outbox = try take(String(name.dropLast(lockSuffix.count)), in: folder, local) else { continue }
        let kept = try outbox.kept()
        if kept.items.isEmpty {
          outbox.end()
        } else {
          found.append(Opened(outbox: outbox, items: kept.items, last: kept.last))
        }
      }
      while found.isEmpty {
        if let outbox = try take(UUID().uuidString, in: folder, local) {
          found = [Opened(outbox: outbox, items: [], last: 0)]
        }
      }
      return found
    } catch {
      throw RemoteTierError(
        .notKept, "What waits to be sent cannot be kept in \(folder.path). Give it a folder of its own.",
        underlying: error)
    }
  }

  private static func take(_ identifier: String, in folder: Directory, _ local: LMDBCache) throws -> Outbox? {
    guard UUID(uuidString: identifier) != nil else { return nil }
    let name = identifier + lockSuffix
    let lock = FileLock(try folder.create(name, requiresOneName: true))
    // Whoever had it may have removed it meanwhile.
    guard try lock.tryLock(.exclusive), try lock.file.isStill(name, in: folder) else { return nil }
    return try Outbox(identifier, folder, lock, local)
  }

  /// Ends its use; it is removed if nothing is in it. Waits for the disk.
  func end() {
    attempt("closing") { [self] in
      let isEmpty = try disk.entries().isEmpty
      try disk.close()
      if isEmpty {
        try folder.removeTree(identifier)
        try folder.remove(identifier + Self.lockSuffix)
      }
    }
    attempt("unlocking") { [self] in try lock.unlock() }
  }

  /// What fails here loses nothing: it is found and sent by the next process, and has no effect then.
  private func attempt(_ activity: String, _ body: () throws -> Void) {
    do { try body() } catch {
      local.log(
        .warning, "\(activity) what waits to be sent failed", ["directory": "\(path)", "error": "\(error)"])
    }
  }

  private var path: String { folder.path(of: identifier) }

  // MARK: Writes

  /// Survives the death of the process when it returns, and a power cut a moment later.
  func keep(_ item: WriteQueue.Item) throws(RemoteTierError) {
    do throws(CacheError) {
      try disk.set(item.kept, forKey: Self.key(item.number))
    } catch {
      throw RemoteTierError(
        .notKept,
        "The write of \(quoted(item.key)) cannot be kept until it is sent. Make room on the disk, and write again.",
        underlying: error)
    }
  }

  /// What is not removed, since the disk fails, is sent again by the next process, and has no effect: it is numbered.
  func remove(_ numbers: [Int]) {
    if numbers.isEmpty { return }
    attempt("removing") { [self] in try disk.removeValues(forKeys: numbers.map(Self.key)) }
  }

  /// A write stays that cannot be read: another version, or another configuration, may.
  func noteUnreadable(_ number: Int, _ error: any Error) {
    local.log(
      .error, "a write that waits to be sent cannot be read, and stays where it is",
      ["directory": "\(path)", "entry": "\(Self.key(number))", "error": "\(error)"])
  }

  /// What was kept and can be read, in order, and the greatest number of all of it.
  private func kept() throws(CacheError) -> (items: [WriteQueue.KeptItem], last: Int) {
    var items: [WriteQueue.KeptItem] = []
    var last = 0
    for entry in try disk.entries() {
      guard let number = Int(entry.key, radix: 16), 1...Self.greatestNumber ~= number,
        Self.key(number) == entry.key
      else { continue }
      last = max(last, number)
      do throws(CacheError) {
        if let bytes = try disk.value(Data.self, forKey: entry.key) {
          items.append(WriteQueue.KeptItem(number: number, bytes: bytes))
        }
      } catch {
        guard error.isOfOneEntry else { throw error }
        noteUnreadable(number, error)
      }
    }
    return (items, last)
  }

  /// Sixteen digits, so that the order of the keys is that of the numbers.
  private static func key(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
