/// The output of `import --json`.
struct ImportSummary: Decodable {
  let taken: Int
  let present: Int
  let isComplete: Bool
}
