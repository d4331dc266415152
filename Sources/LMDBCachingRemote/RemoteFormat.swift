import Foundation
import LMDBCaching
import Platform

/// What the keys of one fleet are called on the server.
///
/// The prefix is in braces: so all of them are in one slot of a cluster, which the scripts need. The number is of the
/// format: fleets of another one have other names, and see nothing of this one.
struct RemoteNames: Sendable {
  static let format = 1

  private let base: String
  private let entryPrefix: String
  let changes: String
  /// Holds a random text as long as the server has the fleet's data.
  let incarnation: String
  private let leasePrefix: String

  init(prefix: String) {
    base = "{\(prefix)}:\(Self.format):"
    entryPrefix = base + "e:"
    leasePrefix = base + "l:"
    changes = base + "changes"
    incarnation = base + "incarnation"
  }

  func entry(_ key: String) -> String { entryPrefix + key }
  func lease(_ key: String) -> String { leasePrefix + key }

  /// Where the number of the last write of a queue is.
  func queue(_ identifier: String) -> String { base + "q:" + identifier }

  /// Where the revision of a queue's removal of many is, until that is done.
  func removal(_ identifier: String) -> String { base + "r:" + identifier }

  /// What match the names of the entries whose keys begin so, and those of their leases, for `SCAN`.
  func patterns(ofKeysWithPrefix prefix: String) -> (entries: String, leases: String) {
    (Self.pattern(entryPrefix + prefix), Self.pattern(leasePrefix + prefix))
  }

  private static func pattern(_ prefix: String) -> String {
    var pattern = ""
    for character in prefix.unicodeScalars {
      if "*?[]\\^-".unicodeScalars.contains(character) { pattern += "\\" }
      pattern.unicodeScalars.append(character)
    }
    return pattern + "*"
  }
}

/// What the server has under a key.
struct RemoteEntry: Sendable {
  let revision: RemoteRevision
  /// A part of the reply.
  let record: Data

  /// How much of a value its revision takes at most, with the line feed.
  static let revisionLength = 48

  /// Reads a value: its revision, a line feed, the record. `nil` where there is none.
  ///
  /// - Throws: `.failed` for what is no value of a cache.
  init?(_ reply: RemoteReply) throws(RemoteTierError) {
    guard case .bytes(let value) = reply else {
      if case .null = reply { return nil }
      throw RemoteTierError(.failed, "The server holds what is no value of a cache. Has another program such a key?")
    }
    guard let end = value.prefix(Self.revisionLength).firstIndex(of: 0x0A), let revision = RemoteRevision(value[..<end])
    else {
      throw RemoteTierError(.failed, "The server holds what is no value of a cache. Has another program such a key?")
    }
    self.revision = revision
    record = value[(end + 1)...]
  }

  /// The revision of a value, of which there is the beginning only; `nil` if there is none.
  static func revision(_ reply: RemoteReply) -> RemoteRevision? {
    guard case .bytes(let value) = reply, let end = value.firstIndex(of: 0x0A) else { return nil }
    return RemoteRevision(value[..<end])
  }

  /// The revision that a script returns; `nil` if it did nothing.
  static func revision(ofScript reply: RemoteReply) -> RemoteRevision? {
    guard case .bytes(let id) = reply else { return nil }
    return RemoteRevision(id)
  }
}

/// Which change of the fleet made a value: the identifier of its entry in the stream of changes, packed so that the
/// order stays. Milliseconds of the server's clock in the upper 44 bits, which last until the year 2527, and a count in
/// the others: a server that made more than a million changes in a millisecond would be another one.
struct RemoteRevision: Hashable, Comparable, Sendable {
  private static let countBits: UInt64 = 20

  let packed: UInt64

  init(packed: UInt64) { self.packed = packed }

  static let none = RemoteRevision(packed: 0)

  /// Reads `1700000000000-3`. `nil` for anything else.
  init?(_ bytes: some Collection<UInt8>) {
    var time: UInt64?
    var number: UInt64 = 0
    var digits = 0
    for byte in bytes {
      if byte == UInt8(ascii: "-"), time == nil, digits > 0 {
        time = number
        (number, digits) = (0, 0)
        continue
      }
      // No number of so few digits overflows.
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), digits < 18 else { return nil }
      number = number * 10 + UInt64(byte - UInt8(ascii: "0"))
      digits += 1
    }
    guard let time, digits > 0, time < 1 << (64 - Self.countBits), number < 1 << Self.countBits else { return nil }
    packed = time << Self.countBits | number
    // None would be later.
    if packed == .max { return nil }
  }

  var text: String { "\(packed >> Self.countBits)-\(packed & (1 << Self.countBits - 1))" }

  /// How much later it is than another one, in milliseconds of the server's clock.
  func milliseconds(since other: RemoteRevision) -> Int64 {
    Int64(packed >> Self.countBits) - Int64(other.packed >> Self.countBits)
  }

  static func < (first: RemoteRevision, second: RemoteRevision) -> Bool { first.packed < second.packed }
}

/// What the server does as one.
///
/// Each writes and tells the fleet of it in one step: there is no change without its entry in the stream, and none
/// twice. An entry's value is its revision, a line feed, and the record. Writes of several keys are in ``WriteBatch``.
struct RemoteScript: Sendable {
  let source: String

  /// Stores what was loaded, if nobody has written the key since the lease was taken. `KEYS`: the entry, the stream,
  /// the lease. `ARGV`: the key, the stream's length, the token of the lease, the record, milliseconds to live or 0.
  ///
  /// As leases of R. Nishtala et al., "Scaling Memcache at Facebook" (2013).
  static let publish = RemoteScript(
    """
    if redis.call('GET', KEYS[3]) ~= ARGV[3] then
      return false
    end
    local id = redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', 'k', ARGV[1])
    local value = id .. '\\n' .. ARGV[4]
    if ARGV[5] == '0' then
      redis.call('SET', KEYS[1], value)
    else
      redis.call('SET', KEYS[1], value, 'PX', ARGV[5])
    end
    redis.call('DEL', KEYS[3])
    return id
    """)

  /// Gives a removal of many a revision: what is older is to be removed. `KEYS`: the stream, and of a queue where the
  /// number of its last write and the revision of its removal are. `ARGV`: the stream's length, and of a queue the
  /// number. One that was begun before gets the same revision again, and one that is done none.
  static let beginRemoval = RemoteScript(
    """
    if KEYS[2] then
      if tonumber(redis.call('GET', KEYS[2]) or '0') >= tonumber(ARGV[2]) then
        return ''
      end
      local number, id = string.match(redis.call('GET', KEYS[3]) or '', '^(%d+) (.+)$')
      if number == ARGV[2] then
        return id
      end
    end
    local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'n', '')
    if KEYS[2] then
      redis.call('SET', KEYS[3], ARGV[2] .. ' ' .. id, 'PX', 604800000)
    end
    return id
    """)

  /// What tells a server from another one that takes its place, and from itself before a restart or a fail-over; empty
  /// if the user may not ask.
  static let identity = RemoteScript(identityFunction + "return identity()")

  private static let identityFunction =
    """
    local function identity()
      local server = redis.pcall('INFO', 'server')
      local replication = redis.pcall('INFO', 'replication')
      if type(server) ~= 'string' or type(replication) ~= 'string' then
        return ''
      end
      return (string.match(server, 'run_id:(%w+)') or '') .. (string.match(replication, 'master_replid:(%w+)') or '')
    end

    """

  /// What ``endRemoval`` returns on a server that is another one.
  static let anotherServer = Data("another".utf8)

  /// Tells the fleet of a removal of many. `KEYS` as of ``beginRemoval``. `ARGV`: the stream's length, the prefix, what
  /// ``identity`` returned, and of a queue the number.
  static let endRemoval = RemoteScript(
    identityFunction + """
      if KEYS[2] and tonumber(redis.call('GET', KEYS[2]) or '0') >= tonumber(ARGV[4]) then
        return ''
      end
      if identity() ~= ARGV[3] then
        return 'another'
      end
      local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'p', ARGV[2])
      if KEYS[2] then
        redis.call('SET', KEYS[2], ARGV[4], 'PX', 604800000)
        redis.call('DEL', KEYS[3])
      end
      return id
      """)

  /// Removes entries that are older than a revision, and what is no entry. `KEYS`: entries. `ARGV`: its two numbers.
  static let removeOlder = RemoteScript(
    """
    local removed = 0
    for _, key in ipairs(KEYS) do
      local start = redis.pcall('GETRANGE', key, 0, 47)
      if type(start) == 'table' then
        if not string.find(start.err, 'WRONGTYPE', 1, true) then
          return start
        end
        start = ''
      end
      local time, count = string.match(start, '^(%d+)-(%d+)\\n')
      time, count = tonumber(time), tonumber(count)
      local bound, boundCount = tonumber(ARGV[1]), tonumber(ARGV[2])
      if time == nil or time < bound or time == bound and count < boundCount then
        removed = removed + redis.call('UNLINK', key)
      end
    end
    return removed
    """)

  /// `KEYS`: the lease. `ARGV`: the token of its owner.
  static let release = RemoteScript(
    """
    if redis.call('GET', KEYS[1]) == ARGV[1] then
      return redis.call('DEL', KEYS[1])
    end
    return 0
    """)

  /// - Parameter source: The server is sent it without what it is indented by.
  init(_ source: String) {
    self.source = source.split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: "\n")
  }

  func command(keys: [String], _ arguments: any RemoteArgument...) -> RemoteCommand {
    command(keys: keys.map(\.bytes), arguments: arguments.map(\.bytes))
  }

  func command(keys: [Data], arguments: [Data]) -> RemoteCommand {
    RemoteCommand(["EVAL".bytes, source.bytes, keys.count.bytes] + keys + arguments)
  }
}

/// Writes of different keys that the server makes as one. It stops at the first that it cannot make, and says of each
/// that it made which revision it is.
struct WriteBatch: Sendable {
  /// What became of a write.
  enum Outcome: Sendable {
    case written(RemoteRevision)
    /// It had been made before, when it was sent the last time.
    case known
  }

  /// What a server holds up as long as it takes is no longer than that.
  static let length = 128
  static let size = 1 << 20

  /// `KEYS`: the stream; where the number of the queue's last write is, or the stream again; then of each write the
  /// entry and the lease. `ARGV`: the stream's length; whether the writes are numbered, 1 or 0; then of each write its
  /// number, its key, the record and the milliseconds to live, 0 for ever, or - for a removal.
  ///
  /// A write with the number of the last one or a lesser one was made before. Who loads a key loses the lease: what is
  /// loaded is older. The number is kept for a week. What can be done at once at the end is: it is one moment for
  /// everybody else. Once a script has written something the server lets it go on, so that there is an error at the
  /// first write or at none; should there be one later, nothing is said of the writes from there on, and they are sent
  /// again.
  private static let script = RemoteScript(
    """
    local last, applied, results, failure = 0, nil, {}, nil
    local sets, removals, leases, first = {}, {}, {}, nil
    local function try(...)
      local result = redis.pcall(...)
      if type(result) == 'table' and result.err then
        failure = '-' .. result.err
      end
      return result
    end
    if ARGV[2] == '1' then
      last = tonumber(redis.call('GET', KEYS[2]) or '0')
    end
    for i = 1, (#ARGV - 2) / 4 do
      local at = 4 * i - 1
      if tonumber(ARGV[at]) <= last then
        results[i] = ''
      else
        local entry, life = KEYS[2 * i + 1], ARGV[at + 3]
        local id = try('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'k', ARGV[at + 1])
        if failure then
          results[i] = failure
          break
        end
        if life == '-' then
          removals[#removals + 1] = entry
          first = first or i
        elseif life == '0' then
          sets[#sets + 1] = entry
          sets[#sets + 1] = id .. '\\n' .. ARGV[at + 2]
          first = first or i
        else
          try('SET', entry, id .. '\\n' .. ARGV[at + 2], 'PX', life)
          if failure then
            results[i] = failure
            break
          end
        end
        leases[#leases + 1] = KEYS[2 * i + 2]
        results[i] = id
        applied = ARGV[at]
      end
    end
    failure = nil
    if #sets > 0 then
      try('MSET', unpack(sets))
    end
    if #removals > 0 and not failure then
      try('DEL', unpack(removals))
    end
    if failure then
      for i = first + 1, #results do
        results[i] = nil
      end
      results[first] = failure
      return results
    end
    if #leases > 0 then
      redis.pcall('DEL', unpack(leases))
    end
    if applied and ARGV[2] == '1' then
      redis.pcall('SET', KEYS[2], applied, 'PX', 604800000)
    end
    return results
    """)

  private let queue: String?
  private let streamLength: Int
  private let names: RemoteNames
  private var keys: [Data]
  private var arguments: [Data]
  private(set) var count = 0
  private var bytes = 0

  /// - Parameter queue: Where the number of the queue's last write is; `nil`: the writes have no numbers.
  init(queue: String?, _ names: RemoteNames, streamLength: Int) {
    self.queue = queue
    self.names = names
    self.streamLength = streamLength
    keys = [names.changes.bytes, (queue ?? names.changes).bytes]
    arguments = [streamLength.bytes, (queue == nil ? "0" : "1").bytes]
  }

  /// Whether no other write should be added.
  var isFull: Bool { count >= Self.length || bytes >= Self.size }

  /// - Parameters:
  ///   - key: One that was not added yet.
  ///   - entry: What is set; `nil`: the entry is removed.
  ///   - now: By the clock of the local cache, which has said when it expires.
  ///   - number: At least 1.
  mutating func add(_ key: String, _ entry: PortableEntry?, at now: Int64, number: Int = 1) {
    keys.append(names.entry(key).bytes)
    keys.append(names.lease(key).bytes)
    arguments.append(number.bytes)
    arguments.append(key.bytes)
    if let entry, let record = entry.liveRecord(at: now) {
      arguments.append(record.bytes)
      arguments.append((record.millisecondsToLive ?? 0).bytes)
      bytes += record.bytes.count
    } else {
      arguments.append(Data())
      arguments.append("-".bytes)
    }
    count += 1
  }

  var command: RemoteCommand { Self.script.command(keys: keys, arguments: arguments) }

  /// What became of the first writes, and why it ended there, if not all of them were made.
  static func outcomes(of reply: RemoteReply, count: Int) -> (made: [Outcome], failure: RemoteTierError?) {
    guard case .array(let results) = reply, results.count <= count else {
      return ([], RemoteTierError(.failed, "A script returned something else."))
    }
    var made: [Outcome] = []
    for result in results {
      guard case .bytes(let text) = result else { break }
      if text.isEmpty {
        made.append(.known)
      } else if let revision = RemoteRevision(text) {
        made.append(.written(revision))
      } else {
        return (made, RemoteTierError(reply: String(decoding: text.dropFirst(), as: UTF8.self)))
      }
    }
    if made.count == count { return (made, nil) }
    return (made, RemoteTierError(.failed, "A script returned \(results.count) results for \(count) writes."))
  }
}

// Times are nanoseconds since 1970 of the clock that has said when the entry expires.
extension PortableEntry {
  /// What is sent of it, and for how long it lives from now on, `nil` for ever; nothing if it has expired.
  func liveRecord(at now: Int64) -> (bytes: Data, millisecondsToLive: Int?)? {
    let life = millisecondsToLive(at: now)
    return life == 0 ? nil : (record, life)
  }

  /// How long it lives from now on; `nil` for ever, 0: not at all.
  func millisecondsToLive(at now: Int64) -> Int? {
    if expires == 0 { return nil }
    let rest = expires.subtractingReportingOverflow(now)
    if rest.overflow { return expires > 0 ? Int.max / 1_000_000 : 0 }
    return rest.partialValue <= 0 ? 0 : Int(rest.partialValue / 1_000_000) + 1
  }
}

extension Duration {
  /// Rounded up, and at least 1: the server knows no shorter time.
  var wholeMilliseconds: Int { Int(Swift.max(1, clampedNanoseconds.addingClamped(999_999) / 1_000_000)) }
}
