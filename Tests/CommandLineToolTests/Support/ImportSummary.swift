/// The output of `import --json`.
struct ImportSummary: Decodable {
  let examined: Int
  let taken: Int
  let takenBytes: Int
  let present: Int
  let expired: Int
  let refused: Int
  let refusalCounts: [String: Int]
  let refusals: [Refusal]
  let isComplete: Bool
  let isDryRun: Bool

  struct Refusal: Decodable {
    let key: String
    let reason: String
    let message: String
  }
}
