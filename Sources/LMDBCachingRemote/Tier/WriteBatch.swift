import Foundation
import LMDBCaching

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
