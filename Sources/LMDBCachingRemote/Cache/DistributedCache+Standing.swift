import LMDBCaching
import Logging
import Platform

// What of the local tiers may be served.

extension DistributedCache {
  /// Whether everything local may be served.
  @inlinable
  var servesAll: Bool { gate.isOpen }

  /// How things stand with a key.
  enum Standing {
    /// What is local may be served, and what the server has be stored.
    case local
    /// What was local is old, and gone.
    case absent
    /// What is local may not be served: whether it is the newest cannot be found out. What is found instead is not
    /// stored.
    case unservable
    /// It waits to be sent.
    case waiting(PortableEntry)
    /// A removal waits to be sent. What is local was made after that.
    case removed
    /// What waited has expired while it was sent.
    case expired
  }

  private enum Look {
    case standing(Standing)
    case check(Check)
  }

  func standing(_ key: String) throws -> Standing {
    switch try look(key) {
    case .standing(let standing): return standing
    case .check(let check):
      do throws(RemoteTierError) {
        return didCheck(key, check, try client.sendAndWait([check.command], .read)[0])
      } catch {
        return error.isOfAnotherType ? didCheck(key, check, .null) : unchecked
      }
    }
  }

  nonisolated(nonsending) func standing(_ key: String) async throws -> Standing {
    switch try look(key) {
    case .standing(let standing): return standing
    case .check(let check):
      let reply: RemoteReply
      do throws(RemoteTierError) { reply = try await client.send([check.command], .read)[0] } catch {
        return error.isOfAnotherType ? didCheck(key, check, .null) : unchecked
      }
      return didCheck(key, check, reply)
    }
  }

  private func look(_ key: String) throws -> Look {
    try checkOpen()
    if gate.has(.waiting), let found = queue?.find(key) { return .standing(try standing(key, found)) }
    if !gate.servesUnheard { return .standing(.unservable) }
    return try check(key).map { .check($0) } ?? .standing(.local)
  }

  private func standing(_ key: String, _ found: WriteQueue.Found) throws -> Standing {
    if case .value(let entry, let number) = found {
      if entry.millisecondsToLive(at: local.now) != 0 { return .waiting(entry) }
      guard queue?.expire(key, number: number) == true else { return .expired }
      try local.removeValue(forKey: key)
    } else if let found = try local.revision(forKey: key), found.revision != 0 {
      // Another process of the directory has fetched what is to be removed.
      try local.removeValue(forKey: key)
    }
    return .removed
  }

  private func didCheck(_ key: String, _ check: Check, _ reply: RemoteReply) -> Standing {
    if isNewest(reply, check) {
      revalidation.noteChecked(key, floor: check.floor)
      return .local
    }
    do throws(CacheError) {
      try local.invalidate(key, below: check.revision.addingClamped(1), news)
      return .absent
    } catch {
      local.log(.error, "an old entry could not be removed", ["key": "\(quoted(key))", "error": "\(error)"])
      return .unservable
    }
  }

  /// The server cannot be asked. While the fleet is heard of it may have changed the entry before; while it is not,
  /// what is local is served for as long as that is allowed.
  private var unchecked: Standing {
    follower.touch != .heard && gate.servesUnheard ? .local : .unservable
  }
}
