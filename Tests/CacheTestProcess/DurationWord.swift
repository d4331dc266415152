/// Durations as command words: nanoseconds, or an extreme.
enum DurationWord {
  static func duration(_ word: String) -> Duration {
    switch word {
    case "max-s": .seconds(Int64.max)
    case "max-ns": .nanoseconds(Int64.max)
    case "min-s": .seconds(Int64.min)
    case "min-ns": .nanoseconds(Int64.min)
    default: .nanoseconds(Int64(word)!)
    }
  }
}
