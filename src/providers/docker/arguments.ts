import { ProviderError } from "../errors.js";

/**
 * A value that stands where the CLI expects a name: never empty (the CLI would take the next word) and never
 * with a leading "-" (it would be an option).
 */
export function nameArgument(value: string, field: string): string {
  if (value === "" || value.startsWith("-") || /[\0\s]/.test(value)) {
    throw new ProviderError(
      "invalid-request",
      `${field}: ${JSON.stringify(value)} can't be a name for docker`,
      {
        field,
        hint: "A name is not empty, does not start with a dash and holds no white space.",
      },
    );
  }
  return value;
}

/** Labels as `--label` pairs. A "=" in a key would move the border between key and value. */
export function labelArguments(labels: Readonly<Record<string, string>>): string[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    if (key === "" || key.startsWith("-") || /[=\0\s]/.test(key)) {
      throw new ProviderError(
        "invalid-request",
        `label key ${JSON.stringify(key)} can't be used with docker`,
        {
          field: "labels",
          hint: "A label key is not empty, does not start with a dash and holds no = and no white space.",
        },
      );
    }
    return ["--label", `${key}=${value}`];
  });
}
