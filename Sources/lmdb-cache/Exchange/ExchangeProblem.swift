/// What is wrong with an entry in a file, or with the file, without the place.
struct ExchangeProblem: Error {
  let text: String

  init(_ text: String) { self.text = text }
}
