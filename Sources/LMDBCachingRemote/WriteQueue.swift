import Foundation
import LMDBCaching
import Logging
import Platform
import Synchronization

/// Writes to be sent, in order; of several to one key, the last. Reads of its process look here first. The local tiers
/// get a write, with its revision, when the server has it. The server keeps the number of the last one: a write that is
/// sent again has one effect.
final class WriteQueue: Sendable {
  final class Item: Sendable {
    let number: Int
    /// Or a prefix.
    let key: String
    /// `nil` for a removal.
    let entry: PortableEntry?
    /// Whether every key with the prefix is removed, after all earlier writes.
    let isRemovalOfAll: Bool

    init(number: Int, key: String, entry: PortableEntry?, isRemovalOfAll: Bool = false) {
      self.number = number
      self.key = key
      self.entry = entry
      self.isRemovalOfAll = isRemovalOfAll
    }

    /// An estimate, in bytes.
    var size: Int { (entry?.size ?? key.utf8.count) + 128 }
  }

  enum Found: Sendable {
    case value(PortableEntry, number: Int)
    /// A removal waits. A local value is newer if it was made here.
    case nothing
  }

  struct State {
    var items: [Int: Item] = [:]
    /// Their numbers, in order. Those whose place another write took are skipped.
    var order: [Int] = []
    /// Those before it have been sent.
    var head = 0
    var numbers: [ByteKey: Int] = [:]
    var lastNumber = 0
    /// Removals of many, in order, until they are on the server.
    var removals: [Item] = []
    var size = 0
    var batch: [Item] = []
    var isSealed = false

    func item(of key: String) -> Item? { numbers[ByteKey(key)].flatMap { items[$0] } }

    var isEmpty: Bool { items.isEmpty && batch.isEmpty }
  }

  let identifier: String
  private let limit: Int
  let outbox: Outbox?
  let gate: LocalGate?
  let state: Mutex<State>

  /// - Parameters:
  ///   - kept: Keeps the writes on the disk.
  ///   - gate: Notes whether any wait.
  init(limit: Int, kept: Outbox.Opened? = nil, gate: LocalGate? = nil) {
    outbox = kept?.outbox
    identifier = outbox?.identifier ?? UUID().uuidString
    self.limit = limit
    self.gate = gate
    var state = State()
    for item in kept?.items ?? [] {
      let replaced = state.insert(item, inPlaceOf: state.replaced(by: item))
      outbox?.remove(replaced.map(\.number))
    }
    // Numbers that a power cut took from the disk, or of unreadable writes, are not used again: the server may know them.
    if let last = kept?.last, last > 0 { state.lastNumber = ((last >> 32) + 1) << 32 }
    gate?.set(.waiting, !state.isEmpty)
    self.state = Mutex(state)
  }

  /// Ends the use of the outbox: what waits is kept there. Waits for the disk.
  func end() { outbox?.end() }

  var count: Int { state.withLock { $0.items.count + $0.batch.count } }
  var size: Int { state.withLock { $0.size } }

  /// - Throws: `.queueFull`, `.notKept`, `.closed`
  func add(_ key: String, _ entry: PortableEntry?, isRemovalOfAll: Bool = false) throws(RemoteTierError) {
    // Released after the lock: the `deinit` of a value may use the cache.
    let replaced = try state.withLock { (state) throws(RemoteTierError) -> [Item] in
      if state.isSealed { throw .cacheClosed }
      let item = Item(number: state.lastNumber + 1, key: key, entry: entry, isRemovalOfAll: isRemovalOfAll)
      let numbers = state.replaced(by: item)
      if numbers.reduce(state.size + item.size, { $0 - (state.items[$1]?.size ?? 0) }) > limit {
        throw RemoteTierError(
          .queueFull,
          "\(state.size) bytes wait to be sent, and \(limit) may. Let the server catch up, or allow for more.")
      }
      try outbox?.keep(item)
      let replaced = state.insert(item, inPlaceOf: numbers)
      if !replaced.isEmpty { outbox?.remove(replaced.map(\.number)) }
      // Most of the time something waits already. The lock orders this.
      if let gate, !gate.has(.waiting) { gate.set(.waiting, true) }
      return replaced
    }
    withExtendedLifetime(replaced) {}
  }

  /// Makes a waiting value that has expired a removal, unless it is being sent. Returns whether it is one now.
  func expire(_ key: String, number: Int) -> Bool {
    // Released after the lock, as above.
    let expired = state.withLock { state -> Item? in
      guard state.numbers[ByteKey(key)] == number, let old = state.items[number] else { return nil }
      let item = Item(number: number, key: key, entry: nil)
      state.items[number] = item
      state.size += item.size - old.size
      return old
    }
    return expired != nil
  }

  /// Takes nothing any more.
  func seal() { state.withLock { $0.isSealed = true } }

  /// What waits for a key, or is being sent; `nil` if the server knows.
  func find(_ key: String) -> Found? {
    state.withLock { state in
      if state.isEmpty { return nil }
      let last = state.item(of: key) ?? state.batch.last { ByteKey($0.key) == ByteKey(key) && !$0.isRemovalOfAll }
      let removal = state.removals.last(where: { key.utf8.starts(with: $0.key.utf8) })?.number ?? 0
      if removal > last?.number ?? 0 { return .nothing }
      return last.map { last in last.entry.map { .value($0, number: last.number) } ?? .nothing }
    }
  }
}

extension RemoteTierError {
  static let cacheClosed = RemoteTierError(.closed, "The distributed cache was closed. Make another one.")
}

extension WriteQueue {
  /// The unsettled batch, or the next: several writes of keys, or one removal of many.
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

  /// The first writes of the batch are on the server and in the local tiers, or given up.
  func settle(_ count: Int) {
    // Not under the lock, which every read takes. Only the sender changes the batch.
    let numbers = state.withLock { $0.batch.prefix(count).map(\.number) }
    outbox?.remove(numbers)
    // The values are released after the lock.
    let settled = state.withLock { state in
      let settled = state.batch.prefix(count)
      for item in settled {
        state.size -= item.size
        if item.isRemovalOfAll { state.removals.removeAll { $0 === item } }
      }
      state.batch.removeFirst(settled.count)
      if state.isEmpty { gate?.set(.waiting, false) }
      return settled
    }
    withExtendedLifetime(settled) {}
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
    if item.isRemovalOfAll { removals.append(item) } else { numbers[ByteKey(item.key)] = item.number }
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

/// Keeps a queue on the disk: a cache without limits, whose keys are the numbers of the writes.
///
/// Every process has its own, in a folder that the processes of a machine share: a directory, and a file that is locked
/// while the process lives. The next process finds those of ended ones.
final class Outbox: Sendable {
  /// An outbox, and what was left in it.
  struct Opened: Sendable {
    let outbox: Outbox
    /// In order.
    let items: [WriteQueue.Item]
    /// The greatest number, that of unreadable writes included; 0 for none.
    let last: Int
  }

  private struct Kept: Codable, Sendable {
    let key: String
    /// `nil` for a removal.
    let record: Data?
    let isRemovalOfAll: Bool
  }

  private static let lockSuffix = ".lock"
  /// Greater ones, which only another program writes, leave none to follow.
  private static let greatestNumber = 1 << 62

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

  /// Opens those of ended processes, removes their empty ones, and creates one if there is none. The first is the
  /// process's own.
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

  /// Survives the death of the process when it returns, and a power cut a moment later.
  func keep(_ item: WriteQueue.Item) throws(RemoteTierError) {
    let kept = Kept(key: item.key, record: item.entry?.record, isRemovalOfAll: item.isRemovalOfAll)
    do throws(CacheError) {
      try disk.set(kept, forKey: Self.key(item.number))
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
      do throws(CacheError) {
        guard let kept = try disk.value(Kept.self, forKey: entry.key) else { continue }
        isEmpty = false
        var entry: PortableEntry?
        if let record = kept.record { entry = try local.entry(reading: record, forKey: kept.key) }
        items.append(
          WriteQueue.Item(number: number, key: kept.key, entry: entry, isRemovalOfAll: kept.isRemovalOfAll))
      } catch {
        guard error.isOfOneEntry else { throw error }
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
