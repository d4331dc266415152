import ArgumentParser
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
    let asked = try InspectorChangeRequest(request.body, isTrim: request.path.last == "trim")
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
          let before = try cache.count
          switch change {
          case .removal(let key):
            guard try cache.contains(key) else { throw Self.noEntry }
            try cache.write { batch in batch.removeValue(forKey: key) }
            return 1
          case .trim(let limits):
            try limits.trim(cache)
            return max(0, before - (try cache.count))
          }
        }
      }
    }
    return try result.get()
  }
}

/// A change that the inspector can make.
enum InspectorChange: Equatable {
  case removal(key: String)
  case trim(TrimLimits)

  static func == (first: InspectorChange, second: InspectorChange) -> Bool {
    switch (first, second) {
    // Bytewise, as the cache compares keys: the user confirmed exactly this one.
    case (.removal(let first), .removal(let second)): first.utf8.elementsEqual(second.utf8)
    case (.trim(let first), .trim(let second)): first == second
    default: false
    }
  }
}

/// The page's request for a change, and its confirmation.
struct InspectorChangeRequest {
  let change: InspectorChange
  /// The code from the answer to the unconfirmed request.
  let confirmation: String?

  private struct Body: Decodable {
    let key, confirmation: String?
    let count, cost: Int?
    let age: Double?
  }

  init(_ body: Data, isTrim: Bool) throws(HTTPRefusal) {
    do {
      let body = try JSONDecoder().decode(Body.self, from: body)
      confirmation = body.confirmation
      if isTrim {
        let limits = TrimLimits(count: body.count, cost: body.cost, age: body.age)
        try limits.validate()
        change = .trim(limits)
      } else if let key = body.key {
        change = .removal(key: key)
      } else {
        throw HTTPRefusal(400, "There is no key in the body of the request.")
      }
    } catch let error as ValidationError {
      throw HTTPRefusal(400, error.message)
    } catch let error as HTTPRefusal {
      throw error
    } catch {
      throw HTTPRefusal(400, "The body of the request is not what it should be.")
    }
  }
}

/// Changes that await the user's confirmation.
final class InspectorConfirmations: Sendable {
  private struct Question {
    let change: InspectorChange
    let code: InspectorToken
    /// Monotonic nanoseconds.
    let end: UInt64
  }

  private let questions = Mutex<[Question]>([])

  /// Seconds until a question expires.
  static let timeLimit = 60
  private static let greatestQuestions = 16

  /// Allows a change once, if the code comes back in time.
  func ask(about change: InspectorChange, now: UInt64 = Platform.nanoseconds()) -> InspectorToken {
    let code = InspectorToken()
    questions.withLock { questions in
      questions.removeAll { $0.end <= now }
      // Drops the oldest question.
      if questions.count >= Self.greatestQuestions { questions.removeFirst() }
      questions.append(Question(change: change, code: code, end: now + UInt64(Self.timeLimit) * 1_000_000_000))
    }
    return code
  }

  /// Whether this change was asked about, and not yet confirmed.
  func take(_ code: String, for change: InspectorChange, now: UInt64 = Platform.nanoseconds()) -> Bool {
    questions.withLock { questions in
      let index = questions.firstIndex { $0.code.matches(code) && $0.change == change && now < $0.end }
      guard let index else { return false }
      questions.remove(at: index)
      return true
    }
  }
}
