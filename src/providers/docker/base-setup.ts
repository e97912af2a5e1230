/**
 * Run by bash as root in the build container, before the setup commands: `bash -c SCRIPT holdfast USER
 * WORKSPACE`. Makes the account and the workspace with what every image with bash has, no useradd. An account
 * of that name that the image brings is used as it is. The last line of its output is "uid gid".
 */
export const baseSetupScript = `
set -eu
user=$1 workspace=$2

account() {
  local name entry_uid entry_gid
  while IFS=: read -r name _ entry_uid entry_gid _; do
    [ "$name" = "$user" ] || continue
    uid=$entry_uid gid=$entry_gid
    return 0
  done </etc/passwd
  return 1
}

taken() {
  local entry_id
  while IFS=: read -r _ _ entry_id _; do [ "$entry_id" != "$1" ] || return 0; done </etc/passwd
  while IFS=: read -r _ _ entry_id _; do [ "$entry_id" != "$1" ] || return 0; done </etc/group
  return 1
}

[ -e /etc/passwd ] || echo 'root:x:0:0:root:/root:/bin/bash' >/etc/passwd
[ -e /etc/group ] || echo 'root:x:0:' >/etc/group
if ! account; then
  # 1000 as everywhere; the next free one where the image has given it to somebody else.
  id=1000
  while taken "$id"; do id=$((id + 1)); done
  echo "$user:x:$id:" >>/etc/group
  echo "$user:x:$id:$id::/home/$user:/bin/bash" >>/etc/passwd
  mkdir -p "/home/$user"
  chown "$id:$id" "/home/$user"
  chmod 750 "/home/$user"
  account
fi
mkdir -p -- "$workspace"
chown "$uid:$gid" -- "$workspace"
echo "$uid $gid"
`;

/** Run after the setup commands: what they put into the workspace as root belongs to the session user. */
export const finishScript = `chown -R -h "$1" -- "$2"`;

/** Takes its script from stdin, so that it is in no argument list and may be of any size; then stdin is empty. */
export const scriptFromStdin = `script=$(cat; echo .); exec </dev/null; eval "\${script%.}"`;
