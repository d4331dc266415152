import Foundation
import LMDBCaching
import Synchronization

extension InspectorSite {
  /// Waits for a running change and prevents later ones.
  func finishChanges() { changes.withLock { $0 = true } }

  /// The question to the user before a change.
  private struct Question: Encodable {
    let confirmation: String
    let question: String
    let seconds = InspectorConfirmations.timeLimit
  }

  private struct Outcome: Encodable {
    let removed: Int
  }

  /// Without a confirmation changes nothing, and answers with the effect and the code to confirm it.
  func change(_ request: HTTPRequest) throws(HTTPRefusal) -> HTTPAnswer {
    guard isWritable else { throw HTTPRefusal(403, "Nothing can be changed: serve was started without --writable.") }
    let type = request.headers["content-type"]?.split(separator: ";").first?.trimmingCharacters(in: .whitespaces)
    guard type?.lowercased() == "application/json" else { throw HTTPRefusal(415, "The body has to be JSON.") }
    let asked =
      request.path.last == "trim"
      ? try InspectorChangeRequest(trim: request.body) : try InspectorChangeRequest(removal: request.body)
    do {
      guard let confirmation = asked.confirmation else {
        let question = try self.question(about: asked.change)
        let code = confirmations.ask(about: asked.change).text
        return try .json(Question(confirmation: code, question: question), status: 202)
      }
      guard confirmations.take(confirmation, for: asked.change) else {
        throw HTTPRefusal(409, "This was asked too long ago, or is done already. Ask again.")
      }
      return try .json(Outcome(removed: try make(asked.change)))
    } catch {
      throw Self.refusal(error)
    }
  }

  private func question(about change: InspectorChange) throws -> String {
    switch change {
    case .removal(let key):
      guard let entry = try reader.entry(forKey: key) else { throw Self.noEntry }
      return "Remove this entry of \(Formatting.bytes(entry.size))? It cannot be undone."
    case .trim(let limits):
      let count = try reader.figures().entries
      var kept: [String] = []
      if let count = limits.count { kept.append("at most \(Formatting.grouped(count)) entries") }
      if let cost = limits.cost { kept.append("a total cost of at most \(Formatting.grouped(cost))") }
      if let age = limits.age { kept.append("only what was used in the last \(Formatting.age(seconds: Int(age)))") }
      return "There are \(Formatting.grouped(count)) entries. Keep \(kept.joined(separator: ", and ")), and remove "
        + "what has expired and the least used others? It cannot be undone."
    }
  }

  /// Makes one change at a time and closes the cache afterwards, so that the inspector blocks no other process.
  private func make(_ change: InspectorChange) throws -> Int {
    let result = changes.withLock { isOver in
      Result {
        if isOver { throw HTTPRefusal(503, "The server ends.") }
        return try CacheOption.withExisting(cache) { cache, _ in
          let before = try cache.entryCount()
          switch change {
          case .removal(let key):
            guard try cache.containsValue(forKey: key) else { throw Self.noEntry }
            try cache.write { batch in batch.removeValue(forKey: key) }
            return 1
          case .trim(let limits):
            try limits.trim(cache)
            return max(0, before - (try cache.entryCount()))
          }
        }
      }
    }
    return try result.get()
  }
}
