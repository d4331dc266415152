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
    /// By their numbers.
    var items: [Int: Item] = [:]
    /// Their numbers, in order. Those whose place another write took are skipped.
    var order: [Int] = []
    /// Those before it have been sent.
    var head = 0
    /// The number of the last write of a key.
    var numbers: [ByteKey: Int] = [:]
    var lastNumber = 0
    /// Removals of many, by their numbers, until they are on the server.
    var removals: [Int: String] = [:]
    var size = 0
    /// What is being sent, in order.
    var batch: [Item] = []
    var isSealed = false
    var waiters: [Int: @Sendable () -> Void] = [:]
    var lastWaiter = 0

    func item(of key: String) -> Item? { numbers[ByteKey(key)].flatMap { items[$0] } }

    var isEmpty: Bool { items.isEmpty && batch.isEmpty }
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
      let replaced = state.insert(item, inPlaceOf: state.replaced(by: item))
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

  var count: Int { state.withLock { $0.items.count + $0.batch.count } }
  var size: Int { state.withLock { $0.size } }

  // MARK: Adding

  /// Adds a write.
  ///
  /// - Throws: `.queueFull`, `.notKept`, `.closed`
  func add(_ key: String, _ write: Write) throws(RemoteTierError) {
    // Released after the lock: the `deinit` of a value may use the cache.
    let replaced = try state.withLock { (state) throws(RemoteTierError) -> [Item] in
      if state.isSealed { throw .cacheClosed }
      let item = Item(number: state.lastNumber + 1, key: key, write: write)
      let numbers = state.replaced(by: item)
      try check(numbers.reduce(state.size + item.size) { $0 - (state.items[$1]?.size ?? 0) }, state)
      try outbox?.keep(item)
      let replaced = state.insert(item, inPlaceOf: numbers)
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
      guard state.numbers[ByteKey(key)] == number, let old = state.items[number] else { return nil }
      let item = Item(number: number, key: key, write: .remove)
      state.items[number] = item
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
  /// - Returns: The number of the waiter, or 0.
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

  /// Returns the closure, if it has not been called.
  func removeWaiter(_ number: Int) -> (@Sendable () -> Void)? {
    state.withLock { $0.waiters.removeValue(forKey: number) }
  }
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
      while state.head < state.order.count, state.batch.count < WriteBatch.length, size < WriteBatch.size {
        guard let item = state.items[state.order[state.head]] else {
          state.head += 1
          continue
        }
        if item.isRemovalOfAll, !state.batch.isEmpty { break }
        state.head += 1
        state.items[item.number] = nil
        if !item.isRemovalOfAll { state.numbers[ByteKey(item.key)] = nil }
        state.batch.append(item)
        size += item.size
        if item.isRemovalOfAll { break }
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
  func hasNewer(than item: Item) -> Bool { state.withLock { $0.numbers[ByteKey(item.key)] != nil } }
}

extension WriteQueue.State {
  /// The numbers of the waiting writes that one takes the place of.
  func replaced(by item: WriteQueue.Item) -> [Int] {
    guard item.isRemovalOfAll else { return numbers[ByteKey(item.key)].map { [$0] } ?? [] }
    return order.dropFirst(head).filter { number in
      guard let other = items[number], !other.isRemovalOfAll else { return false }
      return other.key.utf8.starts(with: item.key.utf8)
    }
  }

  /// - Returns: Those that it takes the place of, which are not to be released with a lock held.
  mutating func insert(_ item: WriteQueue.Item, inPlaceOf replaced: [Int]) -> [WriteQueue.Item] {
    let dropped = replaced.compactMap { items.removeValue(forKey: $0) }
    for old in dropped {
      size -= old.size
      numbers[ByteKey(old.key)] = nil
    }
    if item.isRemovalOfAll { removals[item.number] = item.key } else { numbers[ByteKey(item.key)] = item.number }
    items[item.number] = item
    order.append(item.number)
    lastNumber = item.number
    size += item.size
    if order.count > 1_024, order.count > 4 * items.count {
      order.removeFirst(head)
      head = 0
      order.removeAll { items[$0] == nil }
    }
    return dropped
  }
}

// A write as it is kept on the disk: a byte for what it does, the length of the key, the key, and the record of what is
// set.
extension WriteQueue.Item {
  private static let (set, remove, removeAll): (UInt8, UInt8, UInt8) = (1, 2, 3)

  /// - Throws: `.notKept` for what is no write, and what reading the record does.
  fileprivate convenience init(number: Int, kept bytes: Data, _ local: LMDBCache) throws {
    let header = [UInt8](bytes.prefix(9))
    let length = header.dropFirst().reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    guard header.count == 9, length <= UInt64(bytes.count - 9),
      let key = String(validating: bytes.dropFirst(9).prefix(Int(length)), as: UTF8.self)
    else { throw Self.unreadable }
    let write: WriteQueue.Write =
      switch header[0] {
      case Self.set: .set(try local.entry(reading: Data(bytes.dropFirst(9 + Int(length))), forKey: key))
      case Self.remove: .remove
      case Self.removeAll: .removeAll
      default: throw Self.unreadable
      }
    self.init(number: number, key: key, write: write)
  }

  private static var unreadable: RemoteTierError {
    RemoteTierError(.notKept, "It is no write of this version, or was damaged.")
  }

  fileprivate var kept: Data {
    let operation =
      switch write {
      case .set: Self.set
      case .remove: Self.remove
      case .removeAll: Self.removeAll
      }
    var bytes = Data([operation])
    withUnsafeBytes(of: UInt64(key.utf8.count).littleEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: key.utf8)
    if case .set(let entry) = write { bytes.append(entry.record) }
    return bytes
  }
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
    let items: [WriteQueue.Item]
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
  private let disk: LMDBCache
  private let local: LMDBCache

  private init(_ identifier: String, _ folder: Directory, _ lock: consuming FileLock, _ local: LMDBCache) throws {
    self.identifier = identifier
    self.folder = folder
    self.lock = lock
    self.local = local
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    configuration.logger = local.logger
    disk = try LMDBCache(
      directory: URL(fileURLWithPath: folder.path(of: identifier)), configuration: configuration.withoutMemory)
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
        if kept.isEmpty {
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
    attempt("removing") { [self] in try disk.removeAll(.keys(numbers.map(Self.key))) }
  }

  /// A write stays that cannot be read: another version, or another configuration, may.
  private func noteUnreadable(_ number: Int, _ error: any Error) {
    local.log(
      .error, "a write that waits to be sent cannot be read, and stays where it is",
      ["directory": "\(path)", "entry": "\(Self.key(number))", "error": "\(error)"])
  }

  /// What was kept and can be read, in order, and the greatest number of all of it.
  private func kept() throws(CacheError) -> (items: [WriteQueue.Item], last: Int, isEmpty: Bool) {
    var items: [WriteQueue.Item] = []
    var (last, isEmpty) = (0, true)
    for entry in try disk.entries() {
      guard let number = Int(entry.key, radix: 16), 1...Self.greatestNumber ~= number,
        Self.key(number) == entry.key
      else { continue }
      last = max(last, number)
      let bytes: Data?
      do throws(CacheError) { bytes = try disk.value(Data.self, forKey: entry.key) } catch {
        guard error.isOfOneEntry else { throw error }
        noteUnreadable(number, error)
        continue
      }
      guard let bytes else { continue }
      isEmpty = false
      do { items.append(try WriteQueue.Item(number: number, kept: bytes, local)) } catch {
        noteUnreadable(number, error)
      }
    }
    return (items, last, isEmpty)
  }

  /// Sixteen digits, so that the order of the keys is that of the numbers.
  private static func key(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
